/* Keys for pages with candidates, in Label Studio's own page: one letter a decision, one key for the rest.

   Without this script the keys of the label config work: n is Link, Shift and n No Link. With it:
   0 to 9       Link for the candidate with this number, Shift and the digit: No Link. The place of the key counts,
                not what it prints, so that AZERTY needs no Shift. Pressing twice changes nothing.
   L and N      Link and No Link for the marked candidate, which is the first undecided one or chosen by arrow keys.
   R            The rest is No Link; noted in the answer as a choice of its own.
   Enter        Answers a dialog; goes to what is undecided; submits when nothing is.
   No key decides on a candidate that was not in sight since the task was opened. */
"use strict";
(() => {
  // Nobody signs up for news of Label Studio by not looking.
  const news = document.querySelector("input[type=checkbox][name^=allow_newsletters]");
  if (news?.checked) news.click();
  // Who comes from a platform signs up with the address that the platform gives them.
  const address = document.currentScript?.dataset.email, field = document.querySelector("input[name=email]");
  if (address && field && !field.value) field.value = address;

  const LINK = 0, NO_LINK = 1, REST = 2;
  let task = "", seen = new Set(), current = -1, asked = 0;

  const rows = () => [...document.querySelectorAll(".xd-row")].filter((row) => row.querySelector("[name=Link]"));
  const inputs = (row) => row.querySelectorAll("input[type=radio]");
  // Label Studio gives the buttons of all rows one name, so that the browser takes them for one group: only the class
  // tells what is chosen.
  const isChosen = (input) => Boolean(input.closest(".ant-radio-checked"));
  const isOpen = (row) => ![...inputs(row)].some(isChosen);
  const openOnes = () => rows().flatMap((row, number) => (isOpen(row) ? [number] : []));

  // A dialog that fades away was answered: the next key is not for it.
  const visible = (element) => element.getClientRects().length > 0 && !element.closest("[class*='-leave']");
  const dialog = () => {
    const confirm = [...document.querySelectorAll(".ant-modal-confirm-btns .ant-btn-primary")].filter(visible).pop();
    const guide = [...document.querySelectorAll(".xd-guide")].filter(visible).pop()?.closest(".lsf-modal-ls");
    return confirm || guide?.querySelector("button[aria-label='Close modal']") || null;
  };

  function say(text) {
    let place = document.getElementById("xd-say");
    if (!place) {
      place = document.createElement("div");
      place.id = "xd-say";
      place.setAttribute("role", "status");
      document.body.append(place);
    }
    place.textContent = text;
    place.hidden = !text;
  }

  function inSight(row) {
    const panel = row.closest(".xd-scroll").getBoundingClientRect();
    const bar = document.querySelector(".lsf-bottombar")?.getBoundingClientRect().top ?? innerHeight;
    const bottom = Math.min(panel.bottom, bar, innerHeight) + 2;
    const box = row.getBoundingClientRect();
    return box.height > 0 && box.bottom <= bottom && box.bottom > Math.max(panel.top, 0);
  }

  /* The task that is shown, also where React draws the next one into the same elements. */
  const shown = () => {
    const store = window.Htx;
    return `${store?.task?.id}|${store?.annotationStore?.selected?.id}`;
  };

  /* After the last task: what comes next, on the annotator's own page. Label Studio would fetch the page of a plain link
     itself, and show an error, as it is none of its own. */
  function lookForTheEnd() {
    const over = document.body.innerText.includes("No More Tasks Left in Queue");
    const shown = document.getElementById("xd-next");
    if (over && !shown) {
      const place = document.createElement("div");
      place.id = "xd-next";
      place.innerHTML = "<b>You have done all tasks here. Thank you!</b> " +
        "<a href='/abcdlink/' target='_self' data-external>See what comes next</a>: it appears there, on the only page you need to bookmark.";
      place.style.cssText = "position:fixed;z-index:50;left:50%;top:60%;transform:translateX(-50%);padding:14px 20px;" +
        "border:1px solid #2f6fde;border-radius:8px;max-width:90vw;font-size:16px;background:var(--color-neutral-background,#fff)";
      document.body.append(place);
    } else if (!over && shown) {
      shown.remove();
    }
  }

  function look() {
    asked = 0;
    const all = rows();
    if (!all.length) lookForTheEnd();
    else document.getElementById("xd-next")?.remove();
    document.documentElement.toggleAttribute("data-xd-keys", true);
    if (!all.length) {
      if (task) say("");
      task = "";
      return;
    }
    if (shown() !== task) {
      task = shown();
      seen = new Set();
      current = -1;
      say("");
    }
    if (!dialog() && document.visibilityState === "visible") {
      all.forEach((row, number) => inSight(row) && seen.add(number));
    }
    if (!all[current] || (current === -1 && openOnes().length)) current = openOnes()[0] ?? -1;
    all.forEach((row, number) => row.toggleAttribute("data-xd-now", number === current));
  }
  const lookSoon = () => {
    if (!asked) asked = requestAnimationFrame(look);
  };

  function goTo(number) {
    current = number;
    rows()[number]?.scrollIntoView({ block: "nearest" });
    look();
  }

  function decide(number, what) {
    const row = rows()[number];
    if (!row) return;
    if (!seen.has(number)) {
      goTo(number);
      say(`Candidate ${number} was out of sight. Read it, then press the key again.`);
      return;
    }
    choose(row, what);
    say("");
    const open = openOnes().filter((one) => one !== number);
    goTo(open.find((one) => one > number) ?? open[0] ?? number);
    if (!open.length) say("All candidates are decided. Enter submits.");
  }

  function choose(row, what) {
    const input = inputs(row)[what];
    if (!isChosen(input)) input.click();
  }

  function rest() {
    const open = openOnes();
    if (!rows().every((row) => inputs(row)[REST])) {
      say("Here each candidate needs a decision of its own: Link or No Link.");
      return;
    }
    const unseen = open.filter((number) => !seen.has(number));
    if (unseen.length) {
      rows()[unseen[0]].scrollIntoView({ block: "start" });
      current = unseen[0];
      look();
      say(`${unseen.length} candidates were out of sight. Read on, then press R again.`);
    } else if (open.length) {
      open.forEach((number) => choose(rows()[number], REST));
      say(`${open.length} × No Link (rest). Enter submits.`);
    } else {
      say("All candidates are decided. Enter submits.");
    }
  }

  function submit(tries = 10) {
    const [first] = openOnes();
    if (first !== undefined) {
      goTo(first);
      say(`${openOnes().length} candidates still need a decision: Link or No Link.`);
      return;
    }
    const button = document.querySelector(
      "button[aria-label='Submit current annotation'], button[aria-label='Update current annotation']",
    );
    // Label Studio enables the button a moment after the last decision.
    if (button && !button.disabled) button.click();
    else if (button && tries > 1 && rows().length) setTimeout(() => submit(tries - 1), 50);
  }

  function move(by) {
    const to = Math.min(Math.max(current + by, 0), rows().length - 1);
    goTo(to);
  }

  const writes = (element) =>
    element.isContentEditable || /^(TEXTAREA|SELECT)$/.test(element.tagName) ||
    (element.tagName === "INPUT" && !/^(radio|checkbox|button)$/.test(element.type));

  /* Returns what a key does here; undefined: it is not ours. */
  function meaning(event) {
    if (event.key === "Enter" && dialog()) return () => dialog().click();
    if (!document.querySelector(".xd-wrap") || dialog() || event.altKey || event.metaKey) return undefined;
    // Without candidates, Ctrl and Enter are Label Studio's own: it waits until it can submit.
    if (event.key === "Enter") return !rows().length && event.ctrlKey ? undefined : () => submit();
    if (!rows().length || event.ctrlKey) return undefined;
    const digit = /^(?:Digit|Numpad)(\d)$/.exec(event.code);
    if (digit) return () => decide(Number(digit[1]), event.shiftKey ? NO_LINK : LINK);
    const acts = {
      l: () => decide(current, LINK),
      n: () => decide(current, NO_LINK),
      r: rest,
      arrowdown: () => move(1),
      arrowup: () => move(-1),
    };
    return acts[event.key.toLowerCase()];
  }

  addEventListener("keydown", (event) => {
    if (writes(event.target) && !dialog()) {
      // What was written is taken by Label Studio; then the keys decide again.
      if (event.key === "Enter" && document.querySelector(".xd-wrap")) setTimeout(() => event.target.blur());
      return;
    }
    look();
    const act = meaning(event);
    if (!act) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!event.repeat || event.key.startsWith("Arrow")) act();
  }, true);

  for (const happens of ["scroll", "resize", "focus"]) addEventListener(happens, lookSoon, true);
  document.addEventListener("visibilitychange", lookSoon);
  new MutationObserver(lookSoon).observe(document.documentElement, { childList: true, subtree: true });
})();

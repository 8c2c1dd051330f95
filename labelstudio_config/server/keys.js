/* Keys for pages with candidates, inside Label Studio: one key per decision, one key for all the rest.

   Without this script, the keys of the label config apply: n is Link, Shift + n is No Link. With it:
   0 to 9       Link for the candidate with this number; with Shift, No Link. The position of the key counts,
                not its character, so that AZERTY needs no Shift. Pressing it twice changes nothing.
   L and N      Link and No Link for the outlined candidate: the first undecided one, or the one chosen by arrow keys.
   R            No Link for all the rest; the answer records this as a choice of its own.
   Enter        Confirms a dialog; else goes to the first undecided candidate; else submits.
   No key decides on a candidate that has not been in view since the task was opened. */
"use strict";
(() => {
  // Nobody is subscribed to Label Studio's newsletter by overlooking the checkbox.
  const news = document.querySelector("input[type=checkbox][name^=allow_newsletters]");
  if (news?.checked) news.click();

  const LINK = 0, NO_LINK = 1, REST = 2;
  let task = "", seen = new Set(), current = -1, asked = 0;

  const rows = () => [...document.querySelectorAll(".xd-row")].filter((row) => row.querySelector("[name=Link]"));
  const inputs = (row) => row.querySelectorAll("input[type=radio]");
  // Label Studio gives the buttons of all rows the same name, so the browser treats them as one group: only the class
  // says which one is chosen.
  const isChosen = (input) => Boolean(input.closest(".ant-radio-checked"));
  const isOpen = (row) => ![...inputs(row)].some(isChosen);
  const openOnes = () => rows().flatMap((row, number) => (isOpen(row) ? [number] : []));

  // A dialog that is fading out has been answered: the next key is not for it.
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

  /* The task on the page, even when React draws the next one into the same elements. */
  const shown = () => {
    const store = window.Htx;
    return `${store?.task?.id}|${store?.annotationStore?.selected?.id}`;
  };

  /* After the last task: a link to the annotator's own page. Label Studio would fetch the target of a plain link
     itself and show an error, because the page is not one of its own. */
  function lookForTheEnd() {
    const over = document.body.innerText.includes("No More Tasks Left in Queue");
    const shown = document.getElementById("xd-next");
    if (over && !shown) {
      const place = document.createElement("div");
      place.id = "xd-next";
      place.innerHTML = "<b>There is nothing left to do here. Thank you!</b> " +
        "<a href='/abcdlink/' target='_self' data-external>See what comes next</a>. That page always shows it; bookmark it if you like.";
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
      say(`You have not seen candidate ${number} yet. Read it, then press the key again.`);
      return;
    }
    choose(row, what);
    say("");
    const open = openOnes().filter((one) => one !== number);
    goTo(open.find((one) => one > number) ?? open[0] ?? number);
    if (!open.length) say("All candidates are decided. Press Enter to submit.");
  }

  function choose(row, what) {
    const input = inputs(row)[what];
    if (!isChosen(input)) input.click();
  }

  function rest() {
    const open = openOnes();
    if (!rows().every((row) => inputs(row)[REST])) {
      say("On this page each candidate needs its own decision: Link or No Link.");
      return;
    }
    const unseen = open.filter((number) => !seen.has(number));
    if (unseen.length) {
      rows()[unseen[0]].scrollIntoView({ block: "start" });
      current = unseen[0];
      look();
      say(`You have not seen ${unseen.length === 1 ? "1 candidate" : `${unseen.length} candidates`} yet. Read on, then press R again.`);
    } else if (open.length) {
      open.forEach((number) => choose(rows()[number], REST));
      say(`${open.length} × No Link (rest). Press Enter to submit.`);
    } else {
      say("All candidates are decided. Press Enter to submit.");
    }
  }

  function submit(tries = 10) {
    const [first] = openOnes();
    if (first !== undefined) {
      goTo(first);
      say(`${openOnes().length === 1 ? "1 candidate still needs" : `${openOnes().length} candidates still need`} a decision: Link or No Link.`);
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

  /* Returns what a key does here; undefined if the key is not ours. */
  function meaning(event) {
    if (event.key === "Enter" && dialog()) return () => dialog().click();
    if (!document.querySelector(".xd-wrap") || dialog() || event.altKey || event.metaKey) return undefined;
    // Without candidates, Ctrl + Enter is left to Label Studio, which waits until it can submit.
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
      // Label Studio takes what was typed; then the keys decide again.
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

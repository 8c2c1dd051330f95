"""Label Studio: label configs beside the code that writes tasks for them and reads annotations back."""

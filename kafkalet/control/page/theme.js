// Applies the remembered theme before the page is drawn. A classic script, so that it runs before the body is parsed.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem("kafkalet-theme");
  } catch {
    // storage is disabled: the theme of the system applies
  }
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
})();

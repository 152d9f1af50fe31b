for (const list of document.querySelectorAll(".items")) {
  const bar = list.querySelector(".filter");
  const items = [...list.querySelectorAll(".item")];
  const search = bar.querySelector("input");
  const choices = [...bar.querySelectorAll("select")];
  const show = () => {
    const words = search.value.toLowerCase();
    let n = 0;
    for (const item of items) {
      const tags = JSON.parse(item.dataset.tags);
      const fits = choices.every(each => !each.value || tags[each.name] === each.value)
        && (!words || item.textContent.toLowerCase().includes(words));
      item.hidden = !fits;
      n += fits;
    }
    bar.querySelector("output").value = `${n} / ${items.length}`;
  };
  bar.addEventListener("input", show);
  bar.hidden = false;
  show();
}

for (const list of document.querySelectorAll(".items")) {
  const bar = list.querySelector(".filter");
  const items = [...list.querySelectorAll(".item")].map(item => ({
    item, tags: JSON.parse(item.dataset.tags), text: item.textContent.toLowerCase(),
  }));
  const search = bar.querySelector("input");
  const choices = [...bar.querySelectorAll("select")];
  const fitsChoices = tags => {
    const asked = choices.filter(each => each.value);
    const lists = asked.map(each => tags[each.name]).filter(Array.isArray);
    const places = lists.length ? lists[0].keys() : [0];
    return [...places].some(place => asked.every(each => {
      const tag = tags[each.name];
      return (Array.isArray(tag) ? tag[place] : tag) === each.value;
    }));
  };
  const show = () => {
    const words = search.value.toLowerCase();
    let n = 0;
    for (const { item, tags, text } of items) {
      const fits = fitsChoices(tags) && text.includes(words);
      item.hidden = !fits;
      n += fits;
    }
    bar.querySelector("output").value = `${n} / ${items.length}`;
  };
  bar.addEventListener("input", show);
  bar.hidden = false;
  show();
}

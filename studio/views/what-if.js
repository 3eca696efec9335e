export const view = {
  name: "what-if",
  title: "What if",
  about: "Switch a part off, change a word, and see what becomes of the answer.",
  fits() { return true; },
  async draw(place) { place.append("To come."); },
};

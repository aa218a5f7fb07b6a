// The renderer of formulas. Pages without formulas never load this module, which is a fifth of the editor.
import temml from 'temml'

const LONGEST = 20_000 // letters; beyond that a formula is shown as it is written

/** Draws a formula into an element; throws where it is none, or too long. */
export function draw(latex: string, place: HTMLElement, displayMode: boolean): void {
  if (latex.length > LONGEST) throw new RangeError('This formula is too long to be drawn')
  temml.render(latex, place, { displayMode, throwOnError: true, maxExpand: 500, maxSize: [20, 100], trust: false })
}

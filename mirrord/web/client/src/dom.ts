// Creates elements. Attributes and texts are set one by one: nothing here parses HTML.

type Child = Node | string | null | false

/** An element with *attributes*: null, undefined and false are left out, true becomes ''. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string | number | boolean | null | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name)
  for (const key in attributes) {
    const value = attributes[key]
    if (value != null && value !== false) made.setAttribute(key, value === true ? '' : String(value))
  }
  for (const child of children) if (child !== null && child !== false) made.append(child)
  return made
}

/** A button that calls *act* and keeps the selection of the editor. */
export function button(label: string, act: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const made = element('button', { type: 'button', ...attributes }, label)
  made.addEventListener('mousedown', (event) => event.preventDefault())
  made.addEventListener('click', act)
  return made
}

/** Puts *box* below *place*, or above it if there is no room, within the window. Both in pixels of the window. */
export function beside(box: HTMLElement, place: DOMRect): void {
  const { width, height } = box.getBoundingClientRect()
  const isBelow = place.bottom + height + 8 < window.innerHeight || place.top < height + 8
  box.style.left = `${Math.max(4, Math.min(place.left, window.innerWidth - width - 4))}px`
  box.style.top = `${isBelow ? place.bottom + 4 : place.top - height - 4}px`
}

/** Focuses the element of *selector* in the editor of *text* and selects what is in it; false: there is none. */
export function focusIn(text: HTMLElement, selector: string): boolean {
  const target = text.closest('.mirrord-editor')?.querySelector<HTMLElement>(selector)
  target?.focus()
  if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) target.select()
  return target !== null && target !== undefined
}

/** The first of the fields beside the text. */
export const FIRST_FIELD = '.inspector:not([hidden]) :is(input, textarea, select)'

const IDLE = 200 // ms, where a browser does not tell that it rests

/** Does *work* when the browser rests. */
export function whenIdle(work: () => void): void {
  if ('requestIdleCallback' in window) requestIdleCallback(work)
  else setTimeout(work, IDLE)
}

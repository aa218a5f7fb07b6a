// Folding the content of a block: changes the display only, not the document.
import type { ViewMutationRecord } from '@tiptap/pm/view'
import { element } from '../dom'

export interface Fold {
  toggle: HTMLButtonElement
  show(open: boolean): void
}

/** A button that folds and unfolds; *apply* hides or shows the content. */
export function folding(label: string, apply: (open: boolean) => void): Fold {
  const toggle = element('button', { type: 'button', class: 'fold', contenteditable: 'false', 'aria-label': label })
  const show = (open: boolean) => {
    toggle.setAttribute('aria-expanded', String(open))
    apply(open)
  }
  toggle.addEventListener('mousedown', (event) => event.preventDefault())
  toggle.addEventListener('click', () => show(toggle.getAttribute('aria-expanded') !== 'true'))
  return { toggle, show }
}

/** A test for changes of elements that the view itself made, outside of *content*: the editor ignores them. */
export function ignores(content: HTMLElement): (mutation: ViewMutationRecord) => boolean {
  return ({ type, target }) =>
    type !== 'selection' && (!content.contains(target) || (type === 'attributes' && target === content))
}

// Folding what a block holds: for the eye only, the document stays as it is.
import type { ViewMutationRecord } from '@tiptap/pm/view'
import { element } from '../dom'

export interface Fold {
  toggle: HTMLButtonElement
  show(open: boolean): void
}

/** A button that folds and unfolds; *apply* hides or shows what is folded. */
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

/** Says of a change in the elements of a view whether it is of its own making, outside of *content*. */
export function ignores(content: HTMLElement): (mutation: ViewMutationRecord) => boolean {
  return ({ type, target }) =>
    type !== 'selection' && (!content.contains(target) || (type === 'attributes' && target === content))
}

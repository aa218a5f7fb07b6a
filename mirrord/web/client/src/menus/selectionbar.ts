// The bar beside selected words: their marks, and the kinds of block that the words may become.
import type { Editor } from '@tiptap/core'
import { TextSelection } from '@tiptap/pm/state'
import { beside, element } from '../dom'
import { EDITOR } from '../words'
import { BLOCKS, MARKS } from './actions'
import { groupOf } from './toolbar'

const KINDS = 4 // of blocks: text and three headings

/** The bar of *editor*, shown while words are selected. By keyboard the toolbar does the same. */
export function selectionBar(editor: Editor): HTMLElement {
  const bar = element('div', { class: 'toolbar selection', role: 'group', 'aria-label': EDITOR.formatSelection, hidden: true })
  const groups = [MARKS, BLOCKS.slice(0, KINDS)].map((actions) => groupOf(editor, actions))
  bar.append(...groups.map((group) => group.box))
  let isPressed = false // the mouse is still selecting
  const draw = () => {
    bar.hidden = isPressed || !editor.isFocused || !hasWords(editor)
    if (bar.hidden) return
    for (const group of groups) group.draw()
    beside(bar, placeOf(editor))
  }
  const press = (isNow: boolean) => () => {
    isPressed = isNow
    setTimeout(() => editor.isDestroyed || draw()) // after the selection is known
  }
  const listening = new AbortController()
  const { signal } = listening
  editor.view.dom.addEventListener('mousedown', press(true), { signal })
  window.addEventListener('mouseup', press(false), { signal })
  window.addEventListener('scroll', () => bar.hidden || draw(), { signal, passive: true })
  for (const name of ['transaction', 'focus', 'blur'] as const) editor.on(name, draw)
  editor.on('destroy', () => listening.abort())
  return bar
}

/** Whether words are selected that may have marks. */
function hasWords({ state: { doc, selection } }: Editor): boolean {
  if (!(selection instanceof TextSelection) || selection.empty || selection.$from.parent.type.spec.code) return false
  return doc.textBetween(selection.from, selection.to).trim() !== ''
}

/** Where the selection is in the window. */
export function placeOf({ view, state: { selection } }: Editor): DOMRect {
  const [begin, end] = [view.coordsAtPos(selection.from), view.coordsAtPos(selection.to)]
  const left = begin.top === end.top ? begin.left : Math.min(begin.left, end.left)
  return new DOMRect(left, begin.top, 0, end.bottom - begin.top)
}

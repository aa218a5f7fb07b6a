// The room below the last block: a click there begins a paragraph, and so does the down arrow at the end of a table or quote.
import { Extension } from '@tiptap/core'
import { type EditorState, Plugin, TextSelection } from '@tiptap/pm/state'
import type { EditorView } from '@tiptap/pm/view'

const STILL = 4 // px that a hand moves during a click

export const Below = Extension.create({
  name: 'mirrordBelow',
  addKeyboardShortcuts() {
    return { ArrowDown: () => isAtEnd(this.editor.state, this.editor.view) && begin(this.editor.view) }
  },
  addProseMirrorPlugins() {
    let pressed: { x: number; y: number; isBelow: boolean } | null = null
    // a drag that begins below the last block selects, as elsewhere
    const isClickBelow = ({ clientX, clientY }: MouseEvent) =>
      pressed !== null && pressed.isBelow && Math.hypot(clientX - pressed.x, clientY - pressed.y) <= STILL
    const mousedown = (view: EditorView, event: MouseEvent) => {
      pressed = { x: event.clientX, y: event.clientY, isBelow: isBelow(view, event) }
      // the press may show the fields of the last block below the mouse: then the click is none of the text
      const release = (up: MouseEvent) => !view.dom.contains(up.target as Node) && isClickBelow(up) && begin(view)
      if (pressed.isBelow) view.dom.ownerDocument.addEventListener('mouseup', release, { once: true })
    }
    const click = (view: EditorView, event: MouseEvent) => isClickBelow(event) && begin(view)
    // the editor would select a last block that has no text, and typing would replace it
    const handleClick = (_view: EditorView, _: number, event: MouseEvent) => isClickBelow(event)
    return [new Plugin({ props: { handleClick, handleDOMEvents: { mousedown, click } } })]
  },
})

function isBelow(view: EditorView, event: MouseEvent): boolean {
  const last = view.dom.lastElementChild
  if (event.target !== view.dom || event.button !== 0 || event.shiftKey || !last) return false
  return event.clientY > last.getBoundingClientRect().bottom
}

/** Whether the cursor is in the last line of a block that holds others, with nothing below it. */
function isAtEnd({ selection: { $head, empty }, doc }: EditorState, view: EditorView): boolean {
  if (!empty || $head.depth < 2 || $head.node(1) !== doc.lastChild || doc.lastChild.type.name.endsWith('List')) return false
  if (!view.endOfTextblock('down')) return false
  for (let depth = 0; depth < $head.depth; depth++) {
    const isRow = $head.node(depth).type.spec['tableRole'] === 'row' // all cells of the last row are its end
    if (!isRow && $head.index(depth) + 1 < $head.node(depth).childCount) return false
  }
  return true
}

/** Puts the cursor in an empty paragraph at the end. */
function begin(view: EditorView): true {
  const { tr, doc, schema } = view.state
  const isThere = doc.lastChild?.type.name === 'paragraph' && !doc.lastChild.content.size
  if (!isThere) tr.insert(doc.content.size, schema.nodes['paragraph']!.create())
  view.dispatch(tr.setSelection(TextSelection.atEnd(tr.doc)).scrollIntoView())
  view.focus()
  return true
}

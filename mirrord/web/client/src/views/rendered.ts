// A read-only view of a block, with the views of the editor beside it.
import { EditorState } from '@tiptap/pm/state'
import { EditorView } from '@tiptap/pm/view'
import type { Block } from '../document/document'
import { LOOKS } from './looks'

/** A view of *block* with the node views of *view*; the caller destroys it. */
export function rendered(block: Block, view: EditorView): EditorView {
  const { schema } = view.state
  const doc = schema.topNodeType.create(null, schema.nodeFromJSON(block))
  return new EditorView(null, {
    state: EditorState.create({ doc, plugins: [LOOKS.get(view.state)!] }),
    editable: () => false,
    attributes: { class: 'prose', role: 'presentation' },
  })
}

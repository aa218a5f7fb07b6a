// Footnotes: a new one is written at once, and the cursor goes from a reference to its note and back.
import type { Editor } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { NodeSelection, TextSelection } from '@tiptap/pm/state'

/** Inserts a reference at the cursor and its note at the end, and puts the cursor into the note. */
export function insertFootnote(editor: Editor): void {
  const { state } = editor
  const label = freeLabel(state.doc)
  const { footnoteRef, footnoteDef, paragraph } = state.schema.nodes
  const tr = state.tr.replaceSelectionWith(footnoteRef!.create({ label }))
  tr.insert(tr.doc.content.size, footnoteDef!.create({ label }, paragraph!.create()))
  editor.view.dispatch(tr.setSelection(TextSelection.atEnd(tr.doc)).scrollIntoView())
}

function freeLabel(doc: Node): string {
  const labels = new Set<unknown>()
  doc.descendants((node) => void (node.type.name.startsWith('footnote') && labels.add(node.attrs['label'])))
  let number = 1
  while (labels.has(String(number))) number += 1
  return String(number)
}

/** From a selected reference to its note, or from a note to behind its reference; false: the cursor is at neither. */
export function crossFootnote(editor: Editor): boolean {
  const { selection, doc } = editor.state
  if (selection instanceof NodeSelection && selection.node.type.name === 'footnoteRef')
    return goTo(editor, placeOf(doc, 'footnoteDef', selection.node.attrs['label']))
  const { $head } = selection
  for (let depth = $head.depth; depth > 0; depth--)
    if ($head.node(depth).type.name === 'footnoteDef')
      return goTo(editor, placeOf(doc, 'footnoteRef', $head.node(depth).attrs['label']))
  return false
}

function goTo(editor: Editor, at: number | null): boolean {
  if (at === null) return false
  const { doc, tr } = editor.state
  const node = doc.nodeAt(at)!
  const inside = doc.resolve(at + node.nodeSize - Number(!node.isAtom))
  editor.view.dispatch(tr.setSelection(TextSelection.near(inside, -1)).scrollIntoView())
  return true
}

function placeOf(doc: Node, name: string, label: unknown): number | null {
  let found: number | null = null
  doc.descendants((node, at) => {
    if (found === null && node.type.name === name && node.attrs['label'] === label) found = at
    return found === null
  })
  return found
}

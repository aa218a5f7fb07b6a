// Loads documents with TipTap, as an editor in a browser does, and answers with the resulting documents.
//
// A request and an answer are a line of JSON each, on standard input and output:
//   {"content": DOCUMENT, "typed"?: TEXT} → {"content": DOCUMENT}   typed after the first text; "\n" is Enter
//   {"content": DOCUMENT, "pasted": true} → {"content": DOCUMENT}   copied as HTML and pasted
//   {"content": DOCUMENT, "ordinary": true, "typed"?: TEXT} → {"content": DOCUMENT}   as an app that knows StarterKit,
//     tables, tasks and images only, and does not check contents, shows and saves it
//   {"content": DOCUMENT, "ordinary": true, "checked": true, …} → the same of an app that refuses what does not fit
//   {…, "blockImages": true} → the same of an app whose images are blocks, as they are by default
//   {"schema": true} → {"nodes": {NAME: {ATTRIBUTE: DEFAULT}}, "marks": …}
//   a document that TipTap refuses → {"error": SENTENCE}
import { createInterface } from 'node:readline'
import { Editor, getSchema } from '@tiptap/core'
import Image from '@tiptap/extension-image'
import { TaskItem, TaskList } from '@tiptap/extension-list'
import { TableKit } from '@tiptap/extension-table'
import { DOMParser, DOMSerializer } from '@tiptap/pm/model'
import StarterKit from '@tiptap/starter-kit'
import { Window } from 'happy-dom'
import { extensions, hold, release } from '../src/document/schema.js'

const schema = getSchema(extensions)
const { document } = new Window()

function answer(request) {
  if (request.schema) return { nodes: defaults(schema.nodes), marks: defaults(schema.marks) }
  if (request.ordinary) return { content: saved(request) }
  const held = hold(request.content, schema)
  const node = schema.nodeFromJSON(held)
  node.check()
  if (request.pasted) return { content: release(pasted(node).toJSON()) }
  const editor = new Editor({ element: null, extensions, content: held, enableContentCheck: true })
  if (!editor.state.doc.eq(editor.schema.nodeFromJSON(held)))
    throw new Error('the editor shows something else than the document')
  if (request.typed) type(editor, request.typed)
  const content = release(editor.getJSON())
  editor.destroy()
  return { content }
}

function saved({ content, typed, checked, blockImages }) {
  globalThis.window ??= new Window()
  globalThis.document ??= window.document
  const task = checked ? TaskItem.configure({ nested: true }) : TaskItem
  const image = blockImages ? Image : Image.configure({ inline: true })
  const extensions = [StarterKit, TableKit, TaskList, task, image]
  if (checked) getSchema(extensions).nodeFromJSON(content).check()
  const editor = new Editor({ element: null, extensions, content, enableContentCheck: checked ?? false })
  if (typed) editor.view.dispatch(editor.state.tr.insertText(typed, 1))
  const document = editor.getJSON()
  editor.destroy()
  return document
}

function pasted(node) {
  const element = document.createElement('div')
  element.append(DOMSerializer.fromSchema(schema).serializeFragment(node.content, { document }))
  element.innerHTML = String(element.innerHTML)
  return DOMParser.fromSchema(schema).parse(element)
}

const defaults = (types) =>
  Object.fromEntries(
    Object.entries(types).map(([name, type]) => [
      name,
      Object.fromEntries(Object.entries(type.spec.attrs ?? {}).map(([key, attribute]) => [key, attribute.default])),
    ]),
  )

function type(editor, text) {
  let end
  editor.state.doc.descendants((node, position) => {
    if (end === undefined && node.isTextblock && !node.type.spec.code && node.lastChild?.isText)
      end = position + 1 + node.content.size
    return end === undefined
  })
  if (end === undefined) throw new Error('there is no text to type after')
  if (text === '\n') editor.chain().setTextSelection(end).splitBlock().run()
  else editor.view.dispatch(editor.state.tr.insertText(text, end))
}

for await (const line of createInterface({ input: process.stdin })) {
  let result
  try {
    result = answer(JSON.parse(line))
  } catch (error) {
    result = { error: error.message }
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
}

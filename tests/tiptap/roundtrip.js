// Reads documents from standard input, a JSON object a line, loads each with TipTap, and writes what TipTap makes of it.
//
// in:  {"content": DOCUMENT, "typed"?: TEXT}      typed: inserted at the end of the first text block, as by a person
// out: {"content": DOCUMENT, "plain": DOCUMENT} or {"error": SENTENCE}      plain: as the schema alone gives it back
import { createInterface } from 'node:readline'
import { Editor, getSchema } from '@tiptap/core'
import { extensions, hold, release } from './mirrord.js'

const schema = getSchema(extensions)

function answer({ content, typed }) {
  const held = hold(content, schema)
  const node = schema.nodeFromJSON(held)
  node.check()
  const editor = new Editor({ element: null, extensions, content: held, enableContentCheck: true })
  if (typed !== undefined) type(editor, typed)
  const result = { content: release(editor.getJSON()), plain: release(node.toJSON()) }
  editor.destroy()
  return result
}

function type(editor, text) {
  let end = null
  editor.state.doc.descendants((node, position) => {
    if (end === null && node.isTextblock && !node.type.spec.code) end = position + 1 + node.content.size
    return end === null
  })
  if (end === null) throw new Error('there is no text block to type in')
  editor.commands.insertContentAt(end, { type: 'text', text })
}

for await (const line of createInterface({ input: process.stdin })) {
  let result
  try {
    result = answer(JSON.parse(line))
  } catch (error) {
    result = { error: String(error.message) }
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
}

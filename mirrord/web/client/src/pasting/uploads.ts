// Uploads: files that are pasted, dropped or chosen become attachments of the page; pictures are shown in their place.
import type { Editor } from '@tiptap/core'
import { Fragment, type Node, type Schema, Slice } from '@tiptap/pm/model'
import { Plugin } from '@tiptap/pm/state'
import type { EditorView } from '@tiptap/pm/view'
import type { Action } from '../menus/actions'
import { element } from '../dom'
import type { Options } from '../options'
import { mark } from './places'
import { EDITOR } from '../words'

/** Shows a failure to a person; '' takes it away. */
export type Tell = (sentence: string) => void

/** Uploads files that are dropped. */
export function dropping(options: Options, tell: Tell): Plugin {
  return new Plugin({
    props: {
      handleDrop: (view, event, _, isMove) => {
        const files = isMove ? [] : [...(event.dataTransfer?.files ?? [])]
        if (!files.length) return false
        const at = view.posAtCoords({ left: event.clientX, top: event.clientY })?.pos ?? view.state.selection.from
        event.preventDefault()
        void putFiles(view, at, files, options, tell)
        return true
      },
    },
  })
}

/** The action that opens a dialog for a file. */
export function choosing(options: Options, tell: Tell): Action {
  const run = (editor: Editor) => {
    const input = element('input', { type: 'file', multiple: true })
    input.addEventListener('change', () => {
      const { view } = editor
      void putFiles(view, view.state.selection.from, [...(input.files ?? [])], options, tell)
    })
    input.click()
  }
  return { label: EDITOR.file, sign: EDITOR.fileSign, run }
}

/** Uploads *files* one after the other, and puts them at a place: in its line, or in a paragraph each if there are several. */
export async function putFiles(view: EditorView, at: number, files: File[], options: Options, tell: Tell): Promise<void> {
  tell('')
  const place = mark(view, at, files.length > 1 ? `${files.length} files` : files[0]!.name)
  const uploaded: Node[] = []
  for (const file of files) {
    try {
      uploaded.push(nodeOf(view.state.schema, file, (await options.upload(file)).src))
    } catch (error) {
      tell(`${file.name} was not uploaded: ${error instanceof Error ? error.message : 'try again'}`)
    }
  }
  const there = place.end()
  if (there !== null && uploaded.length) view.dispatch(view.state.tr.replaceRange(there, there, sliceOf(view, there, uploaded)))
}

function nodeOf(schema: Schema, file: File, src: string): Node {
  const name = file.name.replace(/\.\w+$/, '')
  return file.type.startsWith('image/')
    ? schema.nodes['image']!.create({ src, alt: name })
    : schema.text(file.name, [schema.marks['link']!.create({ href: src })])
}

function sliceOf(view: EditorView, at: number, nodes: Node[]): Slice {
  const { parent } = view.state.doc.resolve(at)
  if (nodes.length === 1 && parent.inlineContent && !parent.type.spec.code) return new Slice(Fragment.from(nodes), 0, 0)
  const paragraph = view.state.schema.nodes['paragraph']!
  return new Slice(Fragment.from(nodes.map((node) => paragraph.create(null, node))), 0, 0)
}

// `/` at the beginning of a word opens a menu of insertions.
import { Extension } from '@tiptap/core'
import { PluginKey } from '@tiptap/pm/state'
import { Suggestion } from '@tiptap/suggestion'
import { type Action, BLOCKS, INSERTIONS } from './actions'
import { menu } from './menu'
import { EDITOR } from '../words'

const KEY = new PluginKey('mirrordSlash')
const ALL = [...BLOCKS, ...INSERTIONS]

/** The actions that a person may mean: by name, then by other words for them. */
function matching(query: string): Action[] {
  const words = query.toLowerCase()
  const isNamed = ({ label }: Action) => label.toLowerCase().includes(words)
  const isMeant = ({ also }: Action) => words !== '' && ` ${also ?? ''}`.includes(` ${words}`)
  return [...ALL.filter(isNamed), ...ALL.filter((action) => !isNamed(action) && isMeant(action))]
}

export const Slash = Extension.create({
  name: 'mirrordSlash',
  addProseMirrorPlugins() {
    return [
      Suggestion<Action, Action>({
        editor: this.editor,
        pluginKey: KEY,
        char: '/',
        allowSpaces: true, // names contain spaces
        allow: ({ state }) => !state.selection.$from.parent.type.spec.code,
        items: ({ query }) => matching(query),
        command: ({ editor, range, props }) => {
          editor.chain().focus().deleteRange(range).run()
          props.run(editor)
        },
        render: () => menu<Action>(EDITOR.insert, ({ sign, label, keys }) => ({ sign, label, detail: keys ?? '' })),
      }),
    ]
  },
})

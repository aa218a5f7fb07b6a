// `- [ ] ` becomes a task as it is typed, as `[ ] ` does.
import { Extension, InputRule } from '@tiptap/core'

export const Tasks = Extension.create({
  name: 'mirrordTasks',
  addInputRules: () => [
    new InputRule({
      find: /^\s*\[([ xX]?)\]\s$/,
      handler: ({ state, range, match, chain }) => {
        const { $from } = state.selection
        if ($from.depth < 2 || $from.node(-1).type.name !== 'listItem' || $from.index(-1) > 0) return null
        const checked = match[1]!.toLowerCase() === 'x'
        chain()
          .deleteRange(range)
          .liftListItem('listItem')
          .toggleList('taskList', 'taskItem')
          .updateAttributes('taskItem', { checked })
          .run()
        return undefined
      },
    }),
  ],
})

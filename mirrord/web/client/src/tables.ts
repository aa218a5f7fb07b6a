// PURE: the cells of one table into one table, where each side changed other cells of it.
import { type Block, meaning } from './document'

/** What a cell becomes of three, or null: only a person can tell. */
type Cell = (base: Block, mine: Block, theirs: Block) => Block | null

/**
 * The rows of *mine* with the cells that either changed; null: only a person can tell what they are to be.
 *
 * That is so where a cell is, where the three have not the same rows and columns, and where a row or column may have been
 * moved: what another typed in it would come to stand in its neighbour.
 */
export function cellByCell(base: Block, mine: Block, theirs: Block, cell: Cell): Block[] | null {
  if (![mine, theirs].every((table) => framed(table) === framed(base))) return null
  const [was, one, other] = [base, mine, theirs].map(rowsOf) as [Block[][], Block[][], Block[][]]
  if (![one, other].every((rows) => isAlike(was, rows) && !isMoved(was, rows))) return null
  const made = one.map((row, y) => row.map((own, x) => cell(was[y]![x]!, own, other[y]![x]!)))
  if (made.some((row) => row.includes(null))) return null
  return mine.content!.map((row, y) => ({ ...row, content: made[y] as Block[] }))
}

/** A table's rows without what is in them. */
const framed = (table: Block) => (table.content ?? []).map(({ content: _, ...row }) => meaning(row)).join()

const rowsOf = (table: Block) => (table.content ?? []).map((row) => row.content ?? [])

const isAlike = (was: Block[][], rows: Block[][]) =>
  was.length === rows.length && was.every((row, y) => row.length === rows[y]!.length)

const isMoved = (was: Block[][], rows: Block[][]) => hasMoved(was, rows) || hasMoved(turned(was), turned(rows))

/** Whether something is not what it was, but what stood elsewhere. */
function hasMoved(was: Block[][], lines: Block[][]): boolean {
  const [before, now] = [was, lines].map((all) => all.map((line) => line.map(meaning).join())) as [string[], string[]]
  return now.some((line, at) => line !== before[at] && before.includes(line))
}

const turned = (rows: Block[][]): Block[][] => (rows[0] ?? []).map((_, x) => rows.flatMap((row) => row[x] ?? []))

// PURE: merges two versions of a table cell by cell.
import { type Block, meaning } from '../document/document'

/** The merged cell of three versions; null: a person has to decide. */
type Cell = (base: Block, mine: Block, theirs: Block) => Block | null

/**
 * The rows of *mine* with the cells that either side changed; null: a person has to decide.
 *
 * A person has to decide if one has to about a cell, if the three tables do not have the same rows and columns, or if a
 * row or column may have been moved: the other side's text would be put into a neighbour of its cell.
 */
export function cellByCell(base: Block, mine: Block, theirs: Block, cell: Cell): Block[] | null {
  if (![mine, theirs].every((table) => framed(table) === framed(base))) return null
  const [was, one, other] = [base, mine, theirs].map(rowsOf) as [Block[][], Block[][], Block[][]]
  if (![one, other].every((rows) => isAlike(was, rows) && !isMoved(was, rows))) return null
  const made = one.map((row, y) => row.map((own, x) => cell(was[y]![x]!, own, other[y]![x]!)))
  if (made.some((row) => row.includes(null))) return null
  return mine.content!.map((row, y) => ({ ...row, content: made[y] as Block[] }))
}

/** The rows of a table without their content. */
const framed = (table: Block) => (table.content ?? []).map(({ content: _, ...row }) => meaning(row)).join()

const rowsOf = (table: Block) => (table.content ?? []).map((row) => row.content ?? [])

const isAlike = (was: Block[][], rows: Block[][]) =>
  was.length === rows.length && was.every((row, y) => row.length === rows[y]!.length)

const isMoved = (was: Block[][], rows: Block[][]) => hasMoved(was, rows) || hasMoved(turned(was), turned(rows))

/** Whether a line has the former content of another line. */
function hasMoved(was: Block[][], lines: Block[][]): boolean {
  const [before, now] = [was, lines].map((all) => all.map((line) => line.map(meaning).join())) as [string[], string[]]
  return now.some((line, at) => line !== before[at] && before.includes(line))
}

const turned = (rows: Block[][]): Block[][] => (rows[0] ?? []).map((_, x) => rows.flatMap((row) => row[x] ?? []))

import { rmSync } from 'node:fs'
import type { JsonObject } from '@bulkhead/kit/json'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { needs } from '../../../../../../scripts/machine.ts'
import { thoroughly } from '../../../../../../scripts/thoroughly.ts'
import { analyzeCommand } from '../../policy/analyze-command.ts'
import { BARE_PROGRAMS } from '../../policy/reading-programs.ts'
import { unwalledBash } from '../../../git/test/unwalled-tool.ts'
import { BYPASS_VECTORS } from '../corpus/bypass-vectors.ts'
import { COMMANDS, hostileWords, INSIDE_WORDS, linesOf } from './command-lines.ts'
import { CANARY, changed, plantedWorkspace, snapshot } from './planted-workspace.ts'
import { walledBash } from './walled-bash.ts'

const planted = plantedWorkspace()
afterAll(() => rmSync(planted.root, { recursive: true }))

type Bash = (command: string) => Promise<JsonObject>

const quoted = (words: readonly string[]): string =>
  words.map((word) => (/^[\w./=-]+$/.test(word) ? word : `'${word}'`)).join(' ')
const readingOf = (line: string) =>
  analyzeCommand(line, { workspace: planted.workspace, folder: '.' }).analysis.onlyReads
const isUnasked = (line: string): boolean => readingOf(line) === true || readingOf(line) === 'walled'

/** What each line left behind or showed that it must not. */
async function tracesOf(lines: readonly string[], bash: Bash): Promise<readonly string[]> {
  const traces: string[] = []
  let before = snapshot(planted.root)
  for (const line of lines) {
    const result = await bash(line).catch((error: Error) => error.message)
    const after = snapshot(planted.root)
    const trace = [
      ...changed(before, after), ...(JSON.stringify(result).includes(CANARY) ? ['printed the canary'] : []),
    ]
    if (trace.length > 0) traces.push(`${line}: ${trace.join(', ')}`)
    before = after
  }
  return traces
}

/** Of every such command: lines to judge, and at most how many of those that are judged to only read are run. */
const { every, judged, run } = thoroughly({ every: 40, judged: 40, run: 2 }, { every: 1, judged: 3_000, run: 40 })
const HOSTILE = new Set(hostileWords(planted))
const danger = (words: readonly string[]): number => words.filter((word) => HOSTILE.has(word)).length

it(
  'no line that runs unasked behind the look wall leaves a trace or shows a file outside', needs('bubblewrap', 'git'),
  async () => {
    const seed = thoroughly(34, Date.now() | 0)
    const unasked = COMMANDS.filter((_, at) => at % every === 0).flatMap((command) => {
      const lines = fc.sample(
        linesOf(command, planted, (words) => isUnasked(quoted(words))), { numRuns: judged, seed },
      )
      // Those with words that must not be misread come first.
      return [...new Set(lines.toSorted((one, other) => danger(other) - danger(one)).map(quoted))]
        .filter(isUnasked)
        .slice(0, run)
    })
    const tricks = Object.values(BYPASS_VECTORS).flat().filter(isUnasked)
    expect([unasked.length > COMMANDS.length / every, tricks.length > 20]).toEqual([true, true])
    const { bash, close } = await walledBash(planted.workspace)
    expect(await tracesOf([...unasked, ...tricks.filter((_, at) => at % every === 0)], bash), `seed ${seed}`).toEqual(
      [],
    )
    await close()
  },
)

it('no line that runs unasked without a wall leaves a trace or shows a file outside', async () => {
  const words = [...INSIDE_WORDS, ...hostileWords(planted)]
  const lines = [...BARE_PROGRAMS].flatMap((program) => [
    program, ...words.flatMap((word) => [quoted([program, word]), quoted([program, 'a.txt', word])]),
  ])
  const unasked = [...lines, ...Object.values(BYPASS_VECTORS).flat()].filter((line) => readingOf(line) === true)
  expect(unasked.length).toBeGreaterThan(200)
  const tried = unasked.filter((line, at) => at % thoroughly(80, 1) === 0 && !line.startsWith('sleep'))
  expect(await tracesOf(tried, unwalledBash(planted.workspace))).toEqual([])
})

import { rmSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { analyzeCommand } from '../../../src/bash/policy/analyze-command.ts'
import { unwalledBash } from '../../git/unwalled-tool.ts'
import { COMMANDS, hostileWords, linesOf } from './command-lines.ts'
import { CANARY, changed, plantedWorkspace, snapshot } from './planted-workspace.ts'
import { commandTracer } from './traced-commands.ts'

const planted = plantedWorkspace()
/** Slow, and not everywhere. Without it, only what a command prints and writes is seen. */
const tracer = thoroughly(() => undefined, () => commandTracer(planted))()
afterAll(() => {
  tracer?.forget()
  rmSync(planted.root, { recursive: true })
})

/** Of every such command: lines to judge, and at most how many of those that are judged to only read are run. */
const { every, judged, run } = thoroughly({ every: 5, judged: 40, run: 2 }, { every: 1, judged: 3_000, run: 40 })
const quoted = (words: readonly string[]): string => words.map((word) => /^[\w./=-]+$/.test(word) ? word : `'${word}'`).join(' ')
const readingOf = (line: string) => analyzeCommand(line, { workspace: planted.workspace, folder: '.' }).analysis.onlyReads
const isUnasked = (line: string): boolean => readingOf(line) === true || readingOf(line) === 'walled'

it('no generated command that runs unasked leaves a trace, starts a program of the project, or reads a file outside', async () => {
  const seed = thoroughly(34, Date.now() | 0)
  const unasked = COMMANDS.filter((_, at) => at % every === 0).flatMap((command) => {
    const lines = fc.sample(linesOf(command, planted, (words) => isUnasked(quoted(words))), { numRuns: judged, seed })
    // Those with words that must not be misread come first.
    return [...new Set(lines.toSorted((one, other) => danger(other) - danger(one)).map(quoted))].filter(isUnasked).slice(0, run)
  })
  expect(unasked.length).toBeGreaterThan(COMMANDS.length / every)
  const bash = unwalledBash(planted.workspace, tracer?.prefix)
  const traces: string[] = []
  let before = snapshot(planted.root)
  for (const line of unasked) {
    const result = await bash(line).catch((error: Error) => error.message)
    const after = snapshot(planted.root)
    const trace = [...changed(before, after), ...(JSON.stringify(result).includes(CANARY) ? ['printed the canary'] : []), ...tracer?.take(line) ?? []]
    if (trace.length > 0) traces.push(`${line}: ${trace.join(', ')}`)
    before = after
  }
  expect(traces, `seed ${seed}`).toEqual([])
})

const HOSTILE = new Set(hostileWords(planted))
const danger = (words: readonly string[]): number => words.filter((word) => HOSTILE.has(word)).length

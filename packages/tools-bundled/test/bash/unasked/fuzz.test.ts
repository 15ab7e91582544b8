import { rmSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { analyzeCommand } from '../../../src/bash/policy/analyze-command.ts'
import { unwalledBash } from '../../git/unwalled-tool.ts'
import { COMMANDS, hostileWords, linesOf } from './command-lines.ts'
import { CANARY, changed, plantedWorkspace, snapshot } from './planted-workspace.ts'

const planted = plantedWorkspace()
afterAll(() => rmSync(planted.root, { recursive: true }))

/** Per command: lines to judge, and at most how many of those that are judged to only read are run. */
const { judged, run } = thoroughly({ judged: 150, run: 2 }, { judged: 20_000, run: 400 })
const quoted = (words: readonly string[]): string => words.map((word) => /^[\w./=-]+$/.test(word) ? word : `'${word}'`).join(' ')
const isUnasked = (line: string): boolean => analyzeCommand(line, { workspace: planted.workspace, folder: '.' }).analysis.onlyReads !== undefined

it('no generated command that runs unasked leaves a trace, or prints a file outside', async () => {
  const seed = thoroughly(34, Date.now() | 0)
  const unasked = COMMANDS.flatMap((command) => {
    const lines = fc.sample(linesOf(command, planted, (words) => isUnasked(quoted(words))), { numRuns: judged, seed })
    // Those with words that must not be misread come first.
    return [...new Set(lines.toSorted((one, other) => danger(other) - danger(one)).map(quoted))].filter(isUnasked).slice(0, run)
  })
  expect(unasked.length).toBeGreaterThan(COMMANDS.length)
  const bash = unwalledBash(planted.workspace)
  const traces: string[] = []
  let before = snapshot(planted.root)
  for (const line of unasked) {
    const result = await bash(line).catch((error: Error) => error.message)
    const after = snapshot(planted.root)
    const trace = [...changed(before, after), ...(JSON.stringify(result).includes(CANARY) ? ['printed the canary'] : [])]
    if (trace.length > 0) traces.push(`${line}: ${trace.join(', ')}`)
    before = after
  }
  expect(traces, `seed ${seed}`).toEqual([])
})

const HOSTILE = new Set(hostileWords(planted))
const danger = (words: readonly string[]): number => words.filter((word) => HOSTILE.has(word)).length

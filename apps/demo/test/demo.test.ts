import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { differences } from '../src/scenario.ts'
import { SCENARIOS } from '../src/scenarios.ts'
import { printedStory } from '../src/story.ts'
import type { Outcome } from 'bulkhead'

const metadata: Outcome['metadata'] = { call_id: 'c', tool: 't', origin: null, duration_ms: 1, attempt: 1 }
const output = (data: string): Outcome => ({ type: 'output', data, metadata })
const error = (text: string): Outcome => ({ type: 'error', error_text: text, error: { code: 'InputInvalid', class: 'ToolTerminal', retryable: false }, metadata })

describe('the demo', () => {
  it('plays every scenario and ends well', async () => {
    const demo = spawn(process.execPath, [join(import.meta.dirname, '../src/main.ts')], { env: { NO_COLOR: '1', NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }, stdio: ['ignore', 'pipe', 'pipe'] })
    let printed = ''
    demo.stdout.on('data', (chunk) => { printed += chunk })
    demo.stderr.on('data', (chunk) => { printed += chunk })
    const [code] = await once(demo, 'close')
    expect(printed).toContain('Every scenario went as it should.')
    expect(code).toBe(0)
    for (const { title } of SCENARIOS) expect(printed).toContain(title)
  })
})

describe('what is printed', () => {
  const text = (columns: number | undefined) => {
    const lines: string[] = []
    printedStory((line) => lines.push(...stripVTControlCharacters(line).split('\n')), columns).model(`${'some words '.repeat(12)}${'x'.repeat(100)}`)
    return lines
  }

  it('fits the screen, each line below the first word', () => {
    const lines = text(60)
    expect(lines.length).toBeGreaterThan(3)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60)
    for (const line of lines.slice(1)) expect(line).toMatch(/^ {11}\S/)
  })

  it('is one line for a pipe', () => {
    expect(text(undefined)).toHaveLength(1)
  })
})

describe('a scenario that goes otherwise is found', () => {
  it.each([
    ['a wrong answer', [{ output: 'a' }], [output('b')], /answered "b" instead of "a"/],
    ['an error instead of an answer', [{ output: 'a' }], [error('no')], /should have succeeded/],
    ['an answer instead of an error', [{ error: 'InputInvalid' }], [output('a')], /should have failed/],
    ['another error', [{ error: 'NotFound' }], [error('no')], /instead of NotFound/],
    ['another text', [{ error: 'InputInvalid', says: /yes/ }], [error('no')], /does not say/],
    ['a call that was not made', [{ output: 'a' }], [], /was never made/],
    ['a call too many', [], [output('a')], /1 more calls/],
  ] as const)('%s', (_, expected, outcomes, fault) => {
    expect(differences(expected, outcomes).join()).toMatch(fault)
  })

  it('and one that goes well is not', () => {
    expect(differences([{ output: 'a' }, { error: 'InputInvalid', says: /no/ }], [output('a'), error('no')])).toEqual([])
  })
})

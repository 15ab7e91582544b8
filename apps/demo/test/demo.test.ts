import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { picture } from '../../../scripts/record.ts'
import { LONG } from '../../../scripts/thoroughly.ts'
import { differences, SCENARIOS } from '../src/scenarios.ts'
import { openInspector } from '../src/open-inspector.ts'
import { createReporter } from '../src/reporter.ts'
import { openStage } from '../src/stage.ts'
import type { Outcome } from 'bulkhead'

const metadata: Outcome['metadata'] = { call_id: 'c', tool: 't', origin: null, duration_ms: 1, attempt: 1 }
const output = (data: string): Outcome => ({ type: 'output', data, metadata })
const error = (text: string): Outcome => ({
  type: 'error', error_text: text, error: { code: 'InputInvalid', class: 'ToolTerminal', retryable: false }, metadata,
})

describe('the demo', () => {
  it('plays every scenario and exits with code 0', LONG, async () => {
    const env = { NO_COLOR: '1', PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }
    const main = join(import.meta.dirname, '../src/main.ts')
    const demo = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let printed = ''
    demo.stdout.on('data', (chunk) => { printed += chunk })
    demo.stderr.on('data', (chunk) => { printed += chunk })
    const [code] = await once(demo, 'close')
    expect(printed).toContain('All scenarios passed.')
    expect(code).toBe(0)
    for (const { title } of SCENARIOS) expect(printed).toContain(title)
  })
})

describe('the inspector of the demo', () => {
  it('is reached by a link that signs in once, and by none without it', LONG, async () => {
    await using stage = await openStage()
    await using inspector = await openInspector(stage.host)
    const link = new URL(inspector.link())
    expect(link.hash).toMatch(/^#[\w-]{20,}$/)
    expect((await fetch(link)).headers.get('content-type')).toMatch(/^text\/html/)
    expect((await fetch(new URL('/api/calls', link))).status).toBe(401)
  })
})

describe('the recording', () => {
  const root = join(import.meta.dirname, '../../..')

  it('shows every scenario. After a change: pnpm record', () => {
    const recorded = readFileSync(join(root, 'docs/demo.svg'), 'utf8')
    for (const { title } of SCENARIOS) expect(recorded).toContain(title)
  })

  it('is a picture of the lines, with their colours', () => {
    const drawn = picture('\u001b[1mA title\u001b[22m\n\n  \u001b[32mresult\u001b[39m  a < b\n')
    expect(drawn).toContain('<tspan class="b">A title</tspan>')
    expect(drawn).toContain('<tspan class="g">result</tspan>  a &lt; b</text>')
    expect(drawn.match(/<text /g)).toHaveLength(2)
  })
})

describe('printed output', () => {
  const text = (columns: number | undefined) => {
    const lines: string[] = []
    const reporter = createReporter((line) => lines.push(...stripVTControlCharacters(line).split('\n')), columns)
    reporter.model(`${'some words '.repeat(12)}${'x'.repeat(100)}`)
    return lines
  }

  it('wraps lines to the width of the screen and indents them', () => {
    const lines = text(60)
    expect(lines.length).toBeGreaterThan(3)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60)
    for (const line of lines.slice(1)) expect(line).toMatch(/^ {11}\S/)
  })

  it('does not wrap lines without a terminal', () => {
    expect(text(undefined)).toHaveLength(1)
  })
})

describe('differences', () => {
  it.each([
    ['a wrong result', [{ output: 'a' }], [output('b')], /returned "b" instead of "a"/],
    ['an error instead of a result', [{ output: 'a' }], [error('no')], /should have succeeded/],
    ['a result instead of an error', [{ error: 'InputInvalid' }], [output('a')], /should have failed/],
    ['a different error', [{ error: 'NotFound' }], [error('no')], /instead of NotFound/],
    ['another text', [{ text: /a/ }], [output('b')], /returned "b", which does not match/],
    ['a different message', [{ error: 'InputInvalid', message: /yes/ }], [error('no')], /does not match/],
    ['a missing call', [{ output: 'a' }], [], /was never made/],
    ['an extra call', [], [output('a')], /1 more calls/],
  ] as const)('name %s', (_, expected, outcomes, fault) => {
    expect(differences(expected, outcomes).join()).toMatch(fault)
  })

  it('are none if all results are as expected', () => {
    const expected = [{ output: 'a' }, { error: 'InputInvalid', message: /no/ }]
    expect(differences(expected, [output('a'), error('no')])).toEqual([])
  })
})

import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { InteractionRequest, InteractionResponse } from '@bulkhead/contract'
import { createTerminalInteractor } from '../../src/index.ts'

const ENTER = '\r'
const UP = '\u001b[A'
const DOWN = '\u001b[B'
const SPACE = ' '
const CTRL_C = '\u0003'
const CTRL_D = '\u0004'

/** A terminal that presses keys one by one, each after the screen shows the expected text. */
class Terminal {
  readonly input = new PassThrough()
  readonly output = new PassThrough()
  readonly interactor = createTerminalInteractor({ input: this.input, output: this.output })
  shown = ''
  #waiting: { readonly text: string; readonly seen: () => void } | undefined

  constructor() {
    this.output.on('data', (chunk) => {
      this.shown += String(chunk)
      if (this.#waiting && this.shown.includes(this.#waiting.text)) this.#waiting.seen()
    })
  }

  ask(request: InteractionRequest, signal = new AbortController().signal): Promise<InteractionResponse> {
    return this.interactor.interact({ correlationId: 'q', issuedAt: '', source: 'weather', request }, signal)
  }

  async see(text: string): Promise<void> {
    if (!this.shown.includes(text)) await new Promise<void>((seen) => { this.#waiting = { text, seen } })
    this.#waiting = undefined
  }

  /** The visible text, without colours and cursor movements. */
  get text(): string {
    return stripVTControlCharacters(this.shown)
  }
}

async function answer(request: InteractionRequest, prompt: string, keys: readonly string[]) {
  const terminal = new Terminal()
  const response = terminal.ask(request)
  await terminal.see(prompt)
  for (const key of keys) terminal.input.write(key)
  return { response: await response, terminal }
}

const approval = {
  sessionId: 's', callId: 'c', tool: 'forecast', label: 'Forecast', mode: 'external' as const, kind: 'fetch' as const,
  origin: 'weather@1 (global)', approvalKey: 'Oslo', argumentsText: '{"city":"\u001b[2JOslo\u202e"}',
  touches: ['reach api.example'], mayTouch: ['reach *.example'], reasons: ['the key is new'],
  answers: [
    { decision: 'once' as const, covers: 'call' as const, words: 'this call' },
    { decision: 'session' as const, covers: 'key' as const, words: 'every call with the key "Oslo" in this session' },
    { decision: 'project' as const, covers: 'key' as const, words: 'every call with the key "Oslo" in this project' },
  ],
}

describe('a user at a terminal', () => {
  it.each<[string, readonly string[], object]>([
    ['Enter alone', [ENTER], { decision: 'reject' }],
    ['up to the first option', [UP, UP, UP, ENTER], { decision: 'once', covers: 'call' }],
    ['up to the second option', [UP, UP, ENTER], { decision: 'session', covers: 'key' }],
    ['up to the third option', [UP, ENTER], { decision: 'project', covers: 'key' }],
  ])('answers an approval with: %s', async (_, keys, value) => {
    const { response, terminal } = await answer({ kind: 'Approve', approval }, 'Run it?', keys)
    expect(response).toEqual({
      status: 'accepted', value: { ...value, by: expect.stringMatching(/\S at the terminal$/) },
    })
    for (const text of [
      /^Allow `forecast` to reach api\.example\?$/m, /^ {2}from: +weather@1 \(global\)$/m,
      /^ {2}may: +reach \*\.example$/m, /^ {2}because: +the key is new$/m, /^ {2}key: +Oslo$/m,
      /^ {2}\| \{"city":"\\u\{1b\}\[2JOslo\\u\{202e\}"\}$/m,
    ])
      expect(terminal.text).toMatch(text)
    expect(terminal.text).not.toContain('left out')
  })

  it('sees which tools call the tool and who chose the key, which is valid for the session at most', async () => {
    const answers = approval.answers.slice(0, 2)
    const more = {
      calledBy: ['plan of the global extension plan 1.0.0'], keyByTool: true, leavesOut: ['units'], answers,
    } as const
    const { response, terminal } = await answer({ kind: 'Approve', approval: { ...approval, ...more } }, 'Run it?', [
      UP, ENTER,
    ])
    expect(terminal.text).toMatch(/^ +\(covers any value of: units\)$/m)
    expect(response).toMatchObject({ value: { decision: 'session' } })
    expect(terminal.text).toMatch(/^ {2}called by: plan of the global extension plan 1\.0\.0$/m)
    expect(terminal.text).toMatch(/^ {2}key: +Oslo\n +\(chosen by the tool; it may be the same for every call\)$/m)
    expect(terminal.text).not.toContain('in this project')
  })

  it('sees in words what each answer covers, the least first, in one row each', async () => {
    const name = `${'deep/'.repeat(40)}Allow forecast of bundled extension weather 1.0.0`
    const [once] = approval.answers
    const answers = [
      once!,
      ...['key', 'folder', 'workspace'].map((covers) => ({
        decision: 'session' as const, covers: covers as 'key' | 'folder' | 'workspace',
        words:
          covers === 'workspace'
            ? 'the whole workspace (9 files) in this session'
            : `this ${covers} (${name}) in this session`,
      })),
    ]
    const { response, terminal } = await answer({ kind: 'Approve', approval: { ...approval, answers } }, 'Run it?', [
      UP, UP, ENTER,
    ])
    expect(response).toMatchObject({ value: { decision: 'session', covers: 'folder' } })
    const rows = terminal.text.split('\n')
    const at = (text: string) => rows.findIndex((row) => row.includes(text))
    expect([
      at('Yes, this once'), at('this key ('), at('this folder ('), at('the whole workspace (9 files) in this session'),
    ]).toEqual([0, 1, 2, 3].map((more) => at('Yes, this once') + more))
    for (const row of rows) expect(row.length).toBeLessThan(80)
  })

  it('gives a reason, which reaches the model', async () => {
    const terminal = new Terminal()
    const response = terminal.ask({ kind: 'Approve', approval })
    await terminal.see('Run it?')
    terminal.input.write(DOWN)
    terminal.input.write(ENTER)
    await terminal.see('Why not?')
    for (const key of ['n', 'o', 't', ' ', 'n', 'o', 'w', ENTER]) terminal.input.write(key)
    expect(await response).toMatchObject({ status: 'accepted', value: { decision: 'reject', reason: 'not now' } })
  })

  it('sees how much of a long call does not fit on the screen, and can show all of it', async () => {
    const lines = Array.from({ length: 300 }, (_, index) => `line ${index} of it`)
    const terminal = new Terminal()
    const response = terminal.ask({ kind: 'Approve', approval: { ...approval, argumentsText: lines.join('\n') } })
    await terminal.see('Run it?')
    expect(terminal.text).toMatch(/… \d+ rows with about \d+ characters are hidden here …/)
    expect(terminal.text).toContain('line 0 of it')
    expect(terminal.text).toContain('line 299 of it')
    expect(terminal.text).not.toContain('line 150 of it')
    expect(terminal.text.indexOf('Allow `forecast`')).toBeGreaterThan(-1)
    const before = terminal.shown.length
    for (const key of [DOWN, DOWN, ENTER]) terminal.input.write(key)
    await terminal.see('line 150 of it')
    const shown = stripVTControlCharacters(terminal.shown.slice(before))
    for (const line of lines) expect(shown).toContain(`  | ${line}\n`)
    terminal.input.write(ENTER)
    expect(await response).toMatchObject({ value: { decision: 'reject' } })
  })

  it('sees five rows of each list, and 200 characters of the label of an option', async () => {
    const many = { ...approval, mayTouch: Array<string>(9).fill('reach a host') }
    const asked = await answer({ kind: 'Approve', approval: many }, 'Run it?', [ENTER])
    expect(asked.terminal.text.match(/reach a host/g)).toHaveLength(4)
    const select = { kind: 'Select', prompt: '', options: [{ label: 'x'.repeat(300) }] } as const
    expect((await answer(select, 'Which one?', [ENTER])).terminal.text.replaceAll(/[^x…]/g, '')).toMatch(/^x{200}…/)
  })

  it('never sees third-party text at the beginning of a row', async () => {
    const forged = 'Allow forecast of bundled extension weather 1.0.0'
    const padding = (columns: number) => `${'x'.repeat(columns)}${forged}`
    const argumentsText =
      Array.from({ length: 90 }, (_, columns) => padding(columns)).join('\n') + '\n' + '船'.repeat(60) + forged
    const { terminal } = await answer(
      { kind: 'Approve', approval: { ...approval, argumentsText, touches: [padding(67)], approvalKey: padding(69) } },
      'Run it?', [DOWN, DOWN, ENTER, ENTER],
    )
    for (const row of terminal.text.split('\n')) {
      expect(row.length).toBeLessThan(80)
      if (row.includes('of bundled extension')) expect(row).toMatch(/^ {2}(?:\||:|would:|key:|may:)/)
    }
  })

  const options = [{ label: 'a' }, { label: 'b', description: 'the second' }, { label: 'c' }]
  const expiresAt = '2999-01-01T00:00:00Z'
  const device = { kind: 'Auth.DeviceCode', url: 'https://example.com/device', code: 'ABCD', expiresAt } as const
  it.each<[InteractionRequest, string, readonly string[], unknown]>([
    [{ kind: 'Ask', prompt: 'Which city?' }, 'Your answer', ['O', 's', 'l', 'o', ENTER], 'Oslo'],
    [{ kind: 'Ask', prompt: 'Which city?' }, 'Your answer', [ENTER], ''],
    [{ kind: 'Auth.Password', prompt: 'Password of the mail?' }, 'Password', ['p', 'w', ENTER], 'pw'],
    [{ kind: 'Confirm', prompt: 'Sure?' }, 'Yes or no?', ['y'], true],
    [{ kind: 'Confirm', prompt: 'Sure?' }, 'Yes or no?', [ENTER], false],
    [{ kind: 'Select', prompt: 'Which?', options }, 'Which one?', [DOWN, ENTER], 'b'],
    [
      { kind: 'Select', prompt: '?', options, multiple: true }, 'Which ones?', [SPACE, DOWN, DOWN, SPACE, ENTER],
      ['a', 'c'],
    ],
    [{ kind: 'Select', prompt: '?', options, multiple: true }, 'Which ones?', [ENTER], []],
    [device, 'Have you signed in?', ['y'], null],
    [{ kind: 'trustProject', path: '/p', summary: 's' }, 'Trust it', [DOWN, ENTER], 'once'],
    [{ kind: 'trustProject', path: '/p', summary: 's' }, 'Trust it', [DOWN, DOWN, ENTER], 'trusted'],
    [{ kind: 'trustProject', path: '/p', summary: 's' }, 'Trust it', [DOWN, DOWN, DOWN, ENTER], 'declined'],
    [{ kind: 'trustProject', path: '/p', summary: 's' }, 'Trust it', [ENTER], false],
    [{ kind: 'grantStageTool', tool: 't', stage: 's', argsDigest: 'd', approval }, 'Run it anyway?', ['y'], true],
  ])('answers %o', async (request, prompt, keys, value) => {
    expect((await answer(request, prompt, keys)).response).toEqual({ status: 'accepted', value })
  })

  it('does not show a password', async () => {
    const { terminal } = await answer({ kind: 'Auth.Password', prompt: '?' }, 'Password', [
      'x', 'y', 'z', 'z', 'y', ENTER,
    ])
    expect(terminal.text).not.toContain('xy')
  })

  it.each(['Ask', 'Confirm', 'Auth.Password'] as const)(
    'can dismiss %s with Ctrl-C, which rejects it',
    async (kind) => {
      const prompt = { 'Ask': 'Your answer', 'Confirm': 'Yes or no?', 'Auth.Password': 'Password' }[kind]
      const { response } = await answer({ kind, prompt: '?' }, prompt, [CTRL_C])
      expect(response).toMatchObject({ status: 'rejected', reason: expect.stringContaining('dismissed') })
    },
  )
})

describe('third-party text', () => {
  const HOSTILE = '\u001b[2J\u001b[1;1H\u009b31mforged\nforecast of host wants to run\r\u0007\u202egnp.exe'

  const hostileApproval = {
    ...approval, tool: HOSTILE, origin: HOSTILE, argumentsText: HOSTILE, touches: [HOSTILE], mayTouch: [HOSTILE],
    reasons: [HOSTILE],
    approvalKey: HOSTILE,
  }

  it.each<InteractionRequest>([
    { kind: 'Approve', approval: hostileApproval },
    { kind: 'Ask', prompt: HOSTILE },
    { kind: 'Auth.Password', prompt: HOSTILE },
    { kind: 'Confirm', prompt: HOSTILE },
    { kind: 'Select', prompt: HOSTILE, options: [{ label: HOSTILE, description: HOSTILE }] },
    { kind: 'Select', prompt: HOSTILE, options: [{ label: HOSTILE }], multiple: true },
    { kind: 'Auth.DeviceCode', url: HOSTILE, code: HOSTILE, expiresAt: HOSTILE },
    { kind: 'trustProject', path: HOSTILE, summary: HOSTILE },
    { kind: 'grantStageTool', tool: HOSTILE, stage: HOSTILE, argsDigest: HOSTILE, approval: hostileApproval },
  ])('is escaped on the screen: %o', async (request) => {
    const terminal = new Terminal()
    const cancel = new AbortController()
    const response = terminal.interactor.interact(
      { correlationId: 'q', issuedAt: '', source: HOSTILE, request }, cancel.signal,
    )
    await terminal.see('?25l')
    cancel.abort()
    await response
    for (const hostile of ['\u001b[2J', '\u001b[1;1H', '\u009b', '\u0007', '\u202e', '\r']) {
      expect(terminal.shown).not.toContain(hostile)
    }
    // Third-party text never starts a line like the prompt does.
    for (const line of terminal.text.split('\n').filter((each) => each.includes('forecast of host'))) {
      expect(line).toMatch(/^ {2}(?:\||:|would:|may:|because:|key:)|forged/)
    }
  })
})

describe('a question', () => {
  it('ends when it is withdrawn', async () => {
    const terminal = new Terminal()
    const cancel = new AbortController()
    const response = terminal.ask({ kind: 'Ask', prompt: '?' }, cancel.signal)
    await terminal.see('Your answer')
    cancel.abort()
    expect(await response).toMatchObject({ status: 'rejected', reason: expect.stringContaining('withdrawn') })
    expect(await terminal.ask({ kind: 'Ask', prompt: '?' }, cancel.signal)).toMatchObject({ status: 'rejected' })
  })

  it.each<[InteractionRequest, string]>([
    [{ kind: 'Approve', approval }, 'Run it?'], [{ kind: 'Ask', prompt: 'Which city?' }, 'Which city?'],
  ])('ends with Ctrl-D of the person, and the next answer still counts: %#', async (request, prompt) => {
    const { response, terminal } = await answer(request, prompt, [CTRL_D])
    expect(response).toMatchObject({ status: 'rejected' })
    terminal.shown = ''
    const next = terminal.ask({ kind: 'Ask', prompt: 'And now?' })
    await terminal.see('And now?')
    for (const key of ['O', 'k', CTRL_D, ENTER]) terminal.input.write(key)
    expect(await next).toEqual({ status: 'accepted', value: 'Ok' })
  })

  it('ends when the terminal closes, or is already closed', async () => {
    const terminal = new Terminal()
    const response = terminal.ask({ kind: 'Ask', prompt: '?' })
    await terminal.see('Your answer')
    terminal.input.end()
    expect(await response).toMatchObject({ status: 'rejected', reason: expect.stringContaining('closed') })
    expect(await terminal.ask({ kind: 'Ask', prompt: '?' })).toMatchObject({ status: 'rejected' })
  })

  it('ends before the next one is shown', async () => {
    const terminal = new Terminal()
    const first = terminal.ask({ kind: 'Ask', prompt: 'first' })
    const second = terminal.ask({ kind: 'Confirm', prompt: 'second' })
    await terminal.see('Your answer')
    expect(terminal.text).not.toContain('second')
    for (const key of ['a', ENTER]) terminal.input.write(key)
    expect(await first).toEqual({ status: 'accepted', value: 'a' })
    await terminal.see('Yes or no?')
    terminal.input.write('y')
    expect(await second).toEqual({ status: 'accepted', value: true })
  })
})

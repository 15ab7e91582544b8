import { hash } from 'node:crypto'
import {
  NO_COMMAND_WALLS, type ArgumentsReader, type ArgumentsReading, type CallEffects, type Rule, type RuleAction,
} from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import type { SessionOptions } from '../../src/index.ts'
import { ManualClock } from '../twin/clock.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf, type WorldSketch } from '../twin/world.ts'

const READING: ArgumentsReading = {
  key: 'first && second',
  subjects: [
    { key: 'first', names: ['first -x'] }, { key: 'second', names: [] },
  ],
  touches: [], asks: [], denies: [],
}

async function decide(
  reading: Partial<ArgumentsReading> | ArgumentsReader, session: SessionOptions = {}, sketch: WorldSketch = {},
) {
  const reader: ArgumentsReader = typeof reading === 'function' ? reading : () => ({ ...READING, ...reading })
  const approver = new ScriptedApprover('session')
  const tools = { bash: { mode: 'read' as const, deriveApprovalKey: () => 'harmless' } }
  const world = createWorld({
    extensions: [{ layer: 'bundled', inline: true, tools }], argumentsReaders: new Map([['bash', reader]]), ...sketch,
  })
  const opened = await world.host.openSession({ approver, ...session })
  const call = () => opened.call({ id: 'c1', name: 'bash', arguments: { command: 'x' } })
  const { later } = await opened.explain({ id: 'e', name: 'bash', arguments: { command: 'x' } })
  return { verdict: verdictOf(await call()), asked: approver.asked, again: call, later }
}

const rule = (action: RuleAction, pattern: string): Rule => ({ permission: 'bash', pattern, action })

describe('arguments that a reader of the host analyses', () => {
  test('give the key of the call instead of the tool', async () => {
    const { asked } = await decide({})
    expect(asked.map(({ approvalKey }) => approvalKey)).toEqual(['first && second'])
  })

  test('the reader gets the workspace', async () => {
    const { asked } = await decide((args, { workspace }) => ({
      ...READING, key: `${workspace} ${String(args.command)}`,
    }))
    expect(asked[0]!.approvalKey).toBe('/work space x')
  })

  test.each<[string, readonly string[], number]>([
    ['each of its subjects', ['bash:first', 'bash:second'], 0],
    ['one of its subjects', ['bash:first'], 1],
    ['all of it', ['bash'], 0],
    ['a name of one', ['bash:first -x', 'bash:second'], 1],
    ['its key', ['bash:first && second'], 1],
    ['all of another tool', ['cash', 'cash:*', 'bashful:*', '*:*'], 1],
  ])('are on the allow-list by %s', async (_, allowlist, asked) => {
    expect((await decide({}, {}, { config: { mode: 'allowlist', allowlist: [...allowlist] } })).asked.length).toBe(
      asked,
    )
  })

  test.each<[string, readonly Rule[], string, number]>([
    ['forbidden by one subject', [rule('deny', 'second')], 'RuleDenied', 0],
    ['forbidden by a name', [rule('deny', 'first -*')], 'RuleDenied', 0],
    ['allowed by all subjects', [rule('allow', 'first'), rule('allow', 'second')], 'output', 0],
    ['not allowed by one of them', [rule('allow', 'first')], 'output', 1],
  ])('are %s', async (_, rules, verdict, asked) => {
    const result = await decide({}, { rules })
    expect([result.verdict, result.asked.length]).toEqual([verdict, asked])
  })

  describe('of a call that only reads', () => {
    const reads = { onlyReads: true }
    const tools = { bash: { mode: 'local' as const } }
    const ours = { layer: 'bundled' as const, inline: true, tools }

    test.each(['ask', 'allowlist'] as const)('need no approval in mode %s', async (mode) => {
      const { verdict, asked } = await decide(reads, { mode }, { extensions: [ours] })
      expect([verdict, asked.length]).toEqual(['output', 0])
    })

    test('ask if another extension replaces the tool, because the reader does not describe it', async () => {
      const { verdict, asked } = await decide(
        reads, {}, { extensions: [ours, { id: 'stand-in', layer: 'global', tools }] },
      )
      expect([verdict, asked.map(({ origin }) => origin)]).toEqual(['output', [expect.stringContaining('stand-in')]])
    })

    test('do not override rules, watchdogs and guards', async () => {
      expect((await decide(reads, { rules: [rule('ask', 'first')] })).asked.length).toBe(1)
      expect((await decide(reads, { rules: [rule('deny', 'first')] })).verdict).toBe('RuleDenied')
      expect((await decide(reads, { watchdog: () => ({ action: 'ask', reason: 'why' }) })).asked.length).toBe(1)
      expect((await decide(reads, { guards: [() => ({ action: 'deny', reason: 'why' })] })).verdict).toBe('GuardDenied')
    })
  })

  describe('of a call that only reads behind a file wall', () => {
    const reads = {
      onlyReads: 'walled', command: { line: 'x', look: { key: 'look', subjects: [{ key: 'look' }] } },
    } as const
    const decideHere = async (stands: (() => Promise<boolean>) | undefined, session: SessionOptions = {}) => {
      const approver = new ScriptedApprover('session')
      const world = createWorld({
        extensions: [{ layer: 'bundled', inline: true, tools: { bash: { mode: 'local' } } }],
        argumentsReaders: new Map([['bash', () => ({ ...READING, ...reads })]]),
      })
      if (stands !== undefined) world.sandbox.commandWalls = async () => ({ ...NO_COMMAND_WALLS, look: await stands() })
      const opened = await world.host.openSession({ approver, ...session })
      const call = { id: 'c1', name: 'bash', arguments: { command: 'x' } }
      const { decision, chain } = await opened.explain(call)
      return {
        decision, reasons: chain.map(({ reason }) => reason).join('\n'), verdict: verdictOf(await opened.call(call)),
        asked: approver.asked.length,
      }
    }

    test('need no approval where one stands', async () => {
      expect(await decideHere(async () => true)).toMatchObject({
        decision: 'allow', reasons: expect.stringContaining('only reads inside the workspace'), verdict: 'output',
        asked: 0,
      })
    })

    test.each<[string, (() => Promise<boolean>) | undefined]>([
      ['where none stands', async () => false],
      ['where the sandbox does not know', undefined],
      ['while it cannot be tried', async () => Promise.reject(new Error('no more processes'))],
    ])('ask %s, and explain says so', async (_, stands) => {
      expect(await decideHere(stands)).toMatchObject({
        decision: 'ask', reasons: expect.stringContaining('no file wall stands around commands'), verdict: 'output',
        asked: 1,
      })
    })

    test('ask if the sandbox does not answer in time, and end with the call', async () => {
      const clock = new ManualClock()
      const world = createWorld({
        clock, extensions: [{ layer: 'bundled', inline: true, tools: { bash: { mode: 'local' } } }],
        argumentsReaders: new Map([['bash', () => ({ ...READING, ...reads })]]),
      })
      const asked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      let times = 0
      world.sandbox.commandWalls = () => {
        asked[times++]!.resolve()
        return new Promise(() => {})
      }
      const approver = new ScriptedApprover('session')
      const opened = await world.host.openSession({ approver })
      const call = opened.call({ id: 'c1', name: 'bash', arguments: { command: 'x' } })
      await asked[0]!.promise
      await clock.advance(30_000)
      expect([verdictOf(await call), approver.asked.length]).toEqual(['output', 1])
      const ended = new AbortController()
      const other = opened.call({ id: 'c2', name: 'bash', arguments: { command: 'x' } }, { signal: ended.signal })
      await asked[1]!.promise
      ended.abort()
      expect(verdictOf(await other)).toBe('ToolCancelled')
    })

    test('follow the mode without one', async () => {
      expect(await decideHere(undefined, { mode: 'allowlist' })).toMatchObject({ decision: 'ask', asked: 1 })
      expect(await decideHere(undefined, { mode: 'yolo' })).toMatchObject({ decision: 'allow', asked: 0 })
    })
  })

  describe('that name the files and hosts of a call', () => {
    const requires = { fs: { read: ['{workspace}'], write: ['{workspace}'] }, net: { hosts: ['*'] } }
    const tools = { bash: { mode: 'read' as const, requires } }
    const ours = { layer: 'bundled' as const, inline: true, tools }
    const at = (path: string, below = false) => [{ path: `/work space/${path}`, below }]
    const asked = { rules: [{ permission: 'fs.write', pattern: 'secrets/**', action: 'deny' }] } as const
    const realPath = (path: string): string => path.replace('/linked', '/secrets')

    test.each<[string, CallEffects, readonly Rule[], string]>([
      ['nothing', { reads: [], writes: [], net: false }, asked.rules, 'output'],
      ['elsewhere', { writes: at('src/a') }, asked.rules, 'output'],
      ['there', { writes: at('secrets/a') }, asked.rules, 'RuleDenied'],
      ['above', { writes: at('', true) }, asked.rules, 'output'],
      ['by a link', { writes: at('linked/a') }, asked.rules, 'RuleDenied'],
      ['what is not known', { reads: [], net: false }, asked.rules, 'output'],
      [
        'in a folder that a rule names', { writes: at('secrets/deep/a') },
        [{ permission: 'fs.write', pattern: 'secrets', action: 'deny' }], 'RuleDenied',
      ],
      ['reading there', { reads: at('secrets/a'), writes: [] }, asked.rules, 'output'],
      ['reaching no host', { net: false }, [{ permission: 'net.fetch', pattern: '*', action: 'deny' }], 'output'],
      ['reaching somebody', { writes: [] }, [{ permission: 'net.fetch', pattern: '*', action: 'deny' }], 'output'],
    ])('are evaluated by these: %s', async (_, effects, rules, verdict) => {
      expect((await decide({ effects }, { rules }, { extensions: [ours], realPath })).verdict).toBe(verdict)
    })

    test('are left to the use if links cannot be followed', async () => {
      const effects = { writes: at('src/a') }
      const fails = (): string => {
        throw new Error('no')
      }
      for (const more of [{}, { realPath: fails }]) {
        const { verdict, later } = await decide({ effects }, asked, { extensions: [ours], ...more })
        expect([verdict, later?.length]).toEqual(['output', 1])
      }
    })

    test('do not limit another extension', async () => {
      const extensions = [ours, { id: 'stand-in', layer: 'global' as const, tools }]
      const { later } = await decide({ effects: { reads: [], writes: [], net: false } }, asked, {
        extensions, realPath,
      })
      expect(later).toHaveLength(1)
    })
  })

  test('are approved as a whole', async () => {
    const { again, asked } = await decide({})
    await again()
    expect(asked.length).toBe(1)
  })

  test.each<[string, readonly string[], readonly string[]]>([
    ['each of its subjects', ['first', 'second', 'first,second'], ['first', 'second']],
    ['one of its subjects', ['first', 'first,second'], ['first', 'first,second']],
    ['its key, which covers no subject', ['first,second', 'second'], ['first,second', 'second']],
    ['a parent of a subject', ['/a', '/a/b/c'], ['/a']],
    ['a parent of only one subject', ['/a', '/a/b,/x/y'], ['/a', '/a/b,/x/y']],
    ['a child of a subject', ['/a/b', '/a'], ['/a/b', '/a']],
  ])('are approved by %s', async (_, commands, asked) => {
    const approver = new ScriptedApprover('session')
    const above = (path: string): readonly string[] =>
      path
        .split('/')
        .slice(1, -1)
        .map((_name, index, names) => `/${names.slice(0, index + 1).join('/')}`)
        .toReversed()
    const reader: ArgumentsReader = ({ command }) => ({
      ...READING, key: String(command),
      subjects: String(command)
        .split(',')
        .map((key) => ({ key, within: above(key) })),
    })
    const world = createWorld({
      extensions: [{ layer: 'bundled', inline: true, tools: { bash: {} } }],
      argumentsReaders: new Map([['bash', reader]]),
    })
    const session = await world.host.openSession({ approver })
    for (const [index, command] of commands.entries())
      await session.call({ id: `c${index}`, name: 'bash', arguments: { command } })
    expect(approver.asked.map(({ approvalKey }) => approvalKey)).toEqual(asked)
  })

  test('show the start and the digest of a key that is too long, so keys with the same start differ', async () => {
    const keys: string[] = []
    for (const end of ['x', 'y']) {
      const text = `${'n'.repeat(1_024)}${end}`
      const { asked } = await decide({ key: text })
      expect(asked[0]!.approvalKey).toBe(`${'n'.repeat(199)}… sha256:${hash('sha256', text)}`)
      keys.push(asked[0]!.approvalKey)
    }
    expect(new Set(keys).size).toBe(2)
    expect((await decide({ key: 'n'.repeat(1_024) })).asked[0]!.approvalKey).toBe('n'.repeat(1_024))
  })

  test('ask again if a fresh answer is required, even if a rule allows them', async () => {
    const { again, asked } =
      await decide({ asks: [{ reason: 'the target is unknown', fresh: true }] }, { rules: [rule('allow', '*')] })
    await again()
    expect(asked.map(({ reasons }) => reasons.includes('the target is unknown'))).toEqual([true, true])
  })

  test('can be denied in every mode', async () => {
    expect((await decide({ denies: ['it ends the world'] }, { mode: 'yolo' })).verdict).toBe('WatchdogDenied')
  })

  test.each<[string, ArgumentsReader]>([
    ['throws', () => {
      throw new Error('broken')
    }],
    ['finds nothing', () => ({ ...READING, subjects: [] })],
  ])('are denied when the reader %s', async (_, reader) => {
    expect((await decide(reader, { mode: 'yolo' })).verdict).toBe('ApprovalKeyDerivationFailed')
  })

  test('are denied if the key cannot be displayed', async () => {
    expect((await decide({ key: 'a\u0000b' }, { mode: 'yolo' })).verdict).toBe('ApprovalKeyInvalid')
  })
})

import { describe, expect, it } from 'vitest'
import { byWords, readStory, storyLines } from '../../src/audit/index.ts'
import { at, chainOf, decided, failed, other, succeeded } from './chain.ts'

const opened = {
  type: 'SessionOpened', at: at(0), sessionId: 'aaaa-1', workspace: '/w', agent: 'helper', parentId: 'p',
}
const inCall = (type: string, seconds: number, more: object) =>
  ({ type, at: at(seconds), sessionId: 'aaaa-1', callId: 'c1', ...more })
const story = [
  opened,
  inCall('InteractionRaised', 1, { correlationId: 'q', kind: 'Approve', source: 'host' }),
  inCall('InteractionAnswered', 8, { correlationId: 'q', status: 'accepted', by: 'ann', link: 'l1' }),
  inCall('ToolInvocationChanged', 8, {
    subject: 'arguments', stage: 'guard', source: 'limits', reason: 'too many', before: 'b', after: 'a',
  }),
  decided('c1', 9, { args: { command: 'git c1' } }),
  decided('c1', 10, {
    use: 'fs.read', decision: 'deny', approvalKey: '/etc/shadow', source: 'the rule "fs.read /etc/**"',
  }),
  decided('c2', 10, { parentCallId: 'c1' }), succeeded('c2', 11),
  inCall('KeyUsed', 11, { extensionId: 'bash', key: 'GH', host: 'api.github.com', method: 'GET', path: '/user' }),
  { ...succeeded('c1', 12), attempt: 2, resultChars: 40, began: ['writes a.txt'], link: 'l2' },
  other(13),
]

describe('the story of a call', () => {
  it('has everything that the audit says about it', async () => {
    expect(await readStory([chainOf(story)], { call: 'c1', session: 'aaaa' })).toMatchObject({
      call: 'c1', tool: 'bash', subject: 'git c1', state: 'succeeded', workspace: '/w', agent: 'helper',
      parentSession: 'p', argsSha256: 'f00', arguments: { command: 'git c1' }, attempts: 2, resultChars: 40,
      began: ['writes a.txt'],
      changes: [{ subject: 'arguments', stage: 'guard', source: 'limits', before: 'b', after: 'a' }],
      questions: [{ kind: 'Approve', source: 'host', status: 'accepted', by: 'ann', askedMs: 7_000 }],
      uses: [{ use: 'fs.read', subject: '/etc/shadow', decision: 'deny' }],
      keys: [{ key: 'GH', method: 'GET', host: 'api.github.com', path: '/user' }],
      children: [{ call: 'c2', state: 'succeeded', parent: 'c1' }],
    })
  })

  it('names the link of the chain that covers each record', async () => {
    const { records } = (await readStory([chainOf(story)], { call: 'c1' }))!
    expect(records.map(({ position, link }) => [position, link])).toEqual([
      [2, 'l1'], [3, 'l1'], [4, 'l2'], [5, 'l2'], [6, 'l2'], [9, 'l2'], [10, 'l2'],
    ])
  })

  it('is that of the latest call with the id, or of the session that is named', async () => {
    const again = [...story, { ...failed('c1', 20), sessionId: 'bbbb-2' }]
    const named = async (session?: string) => (await readStory([chainOf(again)], { call: 'c1', session }))?.state
    expect([await named(), await named('aaaa'), await named('cccc')]).toEqual(['failed', 'succeeded', undefined])
  })

  it('joins what several hosts recorded, and crosses pages', async () => {
    const many = Array.from({ length: 700 }, (_, index) => other(20 + index))
    const settled = failed('c3', 900, { durationMs: 0, errorCode: 'OutcomeUnknown' })
    const found = await readStory([
      chainOf([opened, decided('c3', 10), ...many], 'h1'), chainOf([settled], 'h2'),
    ], { call: 'c3' })
    expect(found).toMatchObject({ errorCode: 'OutcomeUnknown', subject: 'git c3', workspace: '/w' })
    expect(found?.records.map(({ host }) => host)).toEqual(['h1', 'h2'])
  })

  it('can be read from records of earlier versions', async () => {
    const found = await readStory([chainOf([decided('c1', 1), succeeded('c1', 2)])], { call: 'c1' })
    expect(found).toMatchObject({ state: 'succeeded', questions: [], children: [] })
    expect(found).not.toHaveProperty('began')
  })
})

it('names the rule of a decision with file and line, who answered, or else its source', () => {
  const by = (source: string, reason: string, answeredBy?: string) => byWords({
    decision: { decision: 'deny', stage: 'rules', source, reason }, ...(answeredBy && { answeredBy }),
  } as Parameters<typeof byWords>[0])
  const rule = 'the rule "bash git push*" of config.json:3 forbids it'
  expect(by('user rule bash git push* (config.json#/rules/0)', rule)).toBe(rule)
  expect([by('no rule', 'it only reads'), by('person', 'approved', 'ann'), by('person', 'no'), by('mode yolo', 'x')])
    .toEqual(['it only reads', 'ann', 'person', 'mode yolo'])
})

describe('the lines of a story', () => {
  const linesOf = async (records: typeof story) =>
    storyLines((await readStory([chainOf(records)], { call: 'c1' }))!).map(({ label, text }) => `${label}: ${text}`)

  it('tell each fact once', async () => {
    expect(await linesOf(story)).toEqual([
      'call: aaaa-1/c1', 'tool: bash, bundled bash@1.0.0', 'what: git c1',
      `for: the agent ${opened.agent}, on behalf of session p, in /w`,
      'arguments: {"command":"git c1"}', 'changed: the arguments, by limits: too many',
      'asked: Approve from host: accepted by ann, after 7.0 s',
      'decided: allowed by the rule "bash git *": it is allowed',
      'used: denied fs.read /etc/shadow, by the rule "fs.read /etc/**": it is allowed',
      'key: GH sent with GET api.github.com/user', 'began: writes a.txt', 'called: c2: bash git c2, ok 1.0 s',
      'result: succeeded, about 40 characters', 'time: 1.0 s, of which 7.0 s for people, 2 attempts',
      'chain: records 2, 3, 4, 5, 6, 9, 10, link l2',
    ])
  })

  it('say what went wrong, and what is not known', async () => {
    const lines = await linesOf([decided('c1', 1), failed('c1', 2, { attempt: 0, durationMs: 5 })])
    expect(lines).toContain('arguments: SHA-256 f00; "audit": { "arguments": true } records the text')
    expect(lines).toContain('result: failed with NotFound (ToolTerminal): There is no such file.')
    expect(lines).toContain('time: 5 ms, it never ran')
    expect(lines.join()).not.toContain('began')
    expect(await linesOf([decided('c1', 1)])).toContainEqual(expect.stringMatching(/^result: no end is recorded/))
  })
})

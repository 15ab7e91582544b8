import type { ApprovalRequest, InteractionEnvelope, InteractionRequest } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { questionForm, readReply } from '../../src/questions/question-form.ts'

const approval: ApprovalRequest = {
  sessionId: 's', callId: 'c1', tool: 'deploy', label: 'Deploy', mode: 'external', kind: 'other',
  origin: 'global extension ship 1.0.0', approvalKey: 'prod', argumentsText: '{\n  "to": "prod"\n}',
  touches: ['reach prod.example'], mayTouch: ['reach *.example'],
  reasons: ['the tool is gated', 'a rule asks'],
  answers: [
    { decision: 'once', covers: 'call', words: 'this call' },
    { decision: 'session', covers: 'key', words: 'every call with the key "prod" in this session' },
    { decision: 'session', covers: 'folder', words: 'this folder (src, 2 files) in this session' },
    { decision: 'project', covers: 'key', words: 'every call with the key "prod" in every session of this project' },
  ],
}
const formOf = (request: InteractionRequest) =>
  questionForm({ correlationId: 'q', issuedAt: '', source: 'extension ship', request } satisfies InteractionEnvelope)
const answered = (request: InteractionRequest, content: unknown, action = 'accept') =>
  readReply(formOf(request)!, { action, content })
const accepted = (value: unknown) => ({ status: 'accepted', value })

describe('an approval', () => {
  const request = { kind: 'Approve', approval } as const

  it('is shown in full, with untrusted text quoted', () => {
    expect(formOf(request)?.message).toBe(
      [
        'Allow `deploy` to reach prod.example?', 'from: global extension ship 1.0.0', 'may: reach *.example',
        'because: the tool is gated', 'because: a rule asks', 'key: prod',
        ...approval.answers.map(({ words }) => `can be allowed: ${words}`), 'arguments:', '| {', '|   "to": "prod"',
        '| }',
      ].join('\n'),
    )
    const hostile = { ...approval, touches: ['a\nwould: b', 'c'], argumentsText: '{}\nRun it: yes\u202e' }
    const forged = formOf({ kind: 'Approve', approval: hostile })!.message
    expect(forged).toMatch(/^Allow `deploy` to run\?\nfrom: .*\nwould: a.*\nwould: c\n/)
    expect(
      forged
        .split('\n')
        .filter((row) => !/^(?:Allow|from|would|may|because|key|can be allowed|arguments|\|)/.test(row)),
    ).toEqual([])
    expect(forged).not.toMatch(/\u202e/)
  })

  it('can only be refused where a rule demands a passkey, which a client does not have', () => {
    const guarded = { ...approval, passkey: { nonce: 'n', credentials: [] } }
    const asked = { kind: 'Approve', approval: guarded } as const
    const { message, requestedSchema } = formOf(asked)!
    expect(message).toMatch('A rule demands a passkey')
    expect(requestedSchema.properties).toMatchObject({ decision: { enum: ['later', 'reject'] } })
    expect(Object.keys(requestedSchema.properties)).toEqual(['decision', 'reason'])
    expect(answered(asked, { decision: 'once' })).toMatchObject({ status: 'rejected' })
    const granted = { kind: 'grantStageTool', stage: 'draft', approval: guarded } as unknown as InteractionRequest
    expect([answered(granted, { answer: true }), answered(granted, { answer: false })])
      .toEqual([accepted(false), expect.objectContaining({ status: 'rejected' })])
  })

  it('shows the calling tools, who chose the key, and that undo does not cover it', () => {
    const more = {
      calledBy: ['plan of the global extension plan 1.0.0'], keyByTool: true, leavesOut: ['to'],
      notRecorded: 'too many\nfiles',
    } as const
    const { message } = formOf({ kind: 'Approve', approval: { ...approval, ...more } })!
    expect(message).toMatch(/\nundo: not recorded: too many[^\n]+files\nbecause: /)
    expect(message).toContain('\ncalled by: plan of the global extension plan 1.0.0\n')
    expect(message).toMatch(
      /\nkey: prod\nThe tool chose this key, .* lasts for this session at most\.\ncovers any value of: to\n/,
    )
  })

  it.each<[string, object]>([
    ['once', { decision: 'once', covers: 'call' }], ['session', { decision: 'session', covers: 'key' }],
    ['session:folder', { decision: 'session', covers: 'folder' }], ['project', { decision: 'project', covers: 'key' }],
    ['later', { decision: 'later' }], ['reject', { decision: 'reject' }],
  ])('can be answered with %s', (decision, value) => {
    expect(answered(request, { decision })).toEqual(accepted(value))
    expect(answered(request, { decision, reason: ' why ' })).toEqual(accepted({ ...value, reason: 'why' }))
  })

  it('carries limits, a narrower key and other arguments, and none that cannot be read', () => {
    const answers = approval.answers.map((one) => one.covers === 'folder' ? { ...one, narrower: ['src/lib/'] } : one)
    const narrowed = { kind: 'Approve', approval: { ...approval, answers } } as const
    const given = { decision: 'session:folder', limit: '5 times', key: 'src/lib/' }
    const folder = { decision: 'session', covers: 'folder' }
    expect(answered(narrowed, given)).toEqual(accepted({ ...folder, uses: 5, key: 'src/lib/' }))
    expect(answered(narrowed, { ...given, limit: '2 h', key: '' }))
      .toEqual(accepted({ ...folder, until: expect.stringMatching(/Z$/) }))
    expect(answered(request, { decision: 'once', arguments: '{"to":"test"}' }))
      .toEqual(accepted({ decision: 'once', covers: 'call', arguments: { to: 'test' } }))
    for (const wrong of [{ limit: 'for ever' }, { arguments: '[1]' }, { arguments: '{' }]) {
      expect(answered(narrowed, { ...given, ...wrong })).toMatchObject({ status: 'rejected' })
    }
    expect(formOf(request)?.requestedSchema.properties).not.toHaveProperty('key')
  })

  it('offers what the host offers, in words', () => {
    expect(formOf(request)?.requestedSchema.properties['decision']).toMatchObject({
      enum: ['once', 'session', 'session:folder', 'project', 'later', 'reject'],
      description: expect.stringContaining('session:folder: this folder (src, 2 files) in this session.'),
    })
    expect(answered(request, { decision: 'session:workspace' })).toMatchObject({ status: 'rejected' })
  })

  it('limits the reason', () => {
    expect(answered(request, { decision: 'reject', reason: 'x'.repeat(9_000) })).toMatchObject({
      value: { reason: 'x'.repeat(2_000) },
    })
  })
})

describe('an invalid reply', () => {
  const replies: readonly unknown[] = [
    undefined, null, 'accept', [], {}, { action: 'accept' }, { action: 'accept', content: null },
    { action: 'accept', content: [] },
    { action: 'accept', content: 'once' }, { action: 'accept', content: {} },
    { action: 'accept', content: { decision: 'yes' } },
    { action: 'accept', content: { decision: true } }, { action: 'accept', content: { decision: null } },
    { action: 'accept', content: { answer: 'true' } },
    { action: 'Accept', content: { decision: 'once' } }, { content: { decision: 'once', answer: true } },
    { action: 'decline', content: { decision: 'once', answer: true } },
    { action: 'cancel', content: { decision: 'once', answer: true } },
  ]
  it.each<InteractionRequest>([
    { kind: 'Approve', approval }, { kind: 'grantStageTool', tool: 'deploy', stage: 'plan', argsDigest: 'd', approval },
    { kind: 'Confirm', prompt: 'Sure?' },
    { kind: 'Auth.DeviceCode', url: 'https://a.example', code: 'AB', expiresAt: '' },
    { kind: 'Select', prompt: 'Which?', options: [{ label: 'a' }] },
  ])('to $kind is rejected', (request) => {
    for (const reply of replies) expect(readReply(formOf(request)!, reply).status).toBe('rejected')
  })
})

describe('other questions', () => {
  it('accept a string, a boolean or an option', () => {
    expect(answered({ kind: 'Ask', prompt: 'Why?' }, { answer: '' })).toEqual(accepted(''))
    expect(answered({ kind: 'Confirm', prompt: 'Sure?' }, { answer: false })).toEqual(accepted(false))
    expect(
      answered({ kind: 'grantStageTool', tool: 'deploy', stage: 'plan', argsDigest: 'd', approval }, { answer: true }),
    ).toEqual(accepted(true))
    const device = { kind: 'Auth.DeviceCode', url: 'https://a.example', code: 'AB-12', expiresAt: '' } as const
    expect(formOf(device)?.message).toBe(
      'extension ship wants you to sign in. Open\n| https://a.example\nand enter\n| AB-12',
    )
    expect(answered(device, { answer: true })).toEqual(accepted(null))
    expect(answered(device, { answer: false }).status).toBe('rejected')
  })

  it('distinguish similar options, and return the chosen label', () => {
    const options = [{ label: 'a\u200b' }, { label: 'a\\u{200b}' }, { label: 'b', description: 'the last' }]
    const form = formOf({ kind: 'Select', prompt: 'Which?', options })!
    const { enum: shown = [] } = form.requestedSchema.properties['answer'] as { readonly enum?: readonly string[] }
    expect(new Set(shown).size).toBe(3)
    expect(shown.map((answer) => readReply(form, { action: 'accept', content: { answer } }))).toEqual(
      options.map(({ label }) => accepted(label)),
    )
    expect(form.message).toMatch(/\n\| .*b: the last$/)
    expect(
      answered(
        { kind: 'Select', prompt: 'Which?', options, multiple: true },
        { option_2: true, option_3: 'true', option_9: true },
      ),
    ).toEqual(accepted([options[1]!.label]))
  })

  it('that are not allowed in a form have none', () => {
    expect(formOf({ kind: 'Auth.Password', prompt: 'Password?' })).toBeUndefined()
    expect(formOf({ kind: 'trustProject', path: '/p', summary: 's' })).toBeUndefined()
  })
})

it('reads 2000 characters of a reason', () => {
  expect(answered({ kind: 'Approve', approval }, { decision: 'reject', reason: 'x'.repeat(3_000) }))
    .toEqual(accepted({ decision: 'reject', reason: 'x'.repeat(2_000) }))
})

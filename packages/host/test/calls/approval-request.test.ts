import { expect, test } from 'vitest'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld } from '../twin/world.ts'

/** Right-to-left override: reverses the display of what follows. */
const TURNED = '\u202e'

test('third-party text cannot hide or overwrite parts of a question', async () => {
  const approver = new ScriptedApprover('once')
  const echo = {
    label: `Echo${TURNED}`, deriveApprovalKey: () => 'Oslo\u200b',
    requires: { fs: { read: [`{workspace}/a${TURNED}b`] } },
  }
  const session = await createWorld({ extensions: [{ tools: { echo } }] }).host.openSession({
    approver, guards: [() => ({ action: 'ask', reason: `odd${TURNED}` })],
  })
  await session.call({ id: `c${TURNED}`, name: 'echo', arguments: { city: `Oslo${TURNED}`, lines: 'a\nb' } })
  const [asked] = approver.asked
  expect(JSON.stringify(asked)).not.toMatch(/[\u202e\u200b]/)
  expect(asked).toMatchObject({
    callId: 'c\\u{202e}', tool: 'echo', label: 'Echo\\u{202e}', mode: 'read', kind: 'other',
    origin: 'global extension sample 1.0.0', argumentsText: '{\n  "city": "Oslo\\u{202e}",\n  "lines": "a\\nb"\n}',
    reasons: expect.arrayContaining(['odd\\u{202e}']),
  })
})

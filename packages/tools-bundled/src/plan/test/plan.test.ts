import { beforeEach, describe, expect, it } from 'vitest'
import { sessionMemory } from '../../../test/memory.ts'
import { toolSession } from '../../../test/tool-session.ts'

const memory = sessionMemory()
let sessions = 0
beforeEach(() => { memory.current = `s${++sessions}` })
const STEPS = [{ step: 'Read the code', status: 'completed' }, { step: 'Mend\n2. it', status: 'pending' }]

describe('plan', () => {
  const tool = toolSession('plan', { session: memory })

  it('stores the steps of a session and returns them', async () => {
    expect(await tool.call({})).toEqual({ steps: [], planning: false })
    expect(await tool.call({ steps: [STEPS[0]!, { step: 'Mend\n2. it' }] })).toEqual({ steps: STEPS, planning: false })
    expect(await tool.call({})).toEqual({ steps: STEPS, planning: false })
    memory.current = 'other'
    expect(await tool.call({})).toEqual({ steps: [], planning: false })
  })

  it('enters plan mode and does not leave it', async () => {
    expect(await tool.call({ enter: true })).toEqual({ steps: [], planning: true })
    expect(await tool.call({ steps: STEPS, enter: false })).toEqual({ steps: STEPS, planning: true })
    expect(await memory.read('c')).toMatchObject({ data: { planning: true } })
  })

  it('stays in plan mode if other calls store steps at the same time', async () => {
    await Promise.all([tool.call({ enter: true }), tool.call({ steps: STEPS }), tool.call({ steps: STEPS })])
    expect(await tool.call({})).toEqual({ steps: STEPS, planning: true })
  })

  it('refuses a plan that does not fit into one question, and keeps the previous one', async () => {
    await tool.call({ steps: STEPS })
    const steps = Array.from({ length: 20 }, () => ({ step: 'x'.repeat(500) }))
    expect(await tool.refusal({ steps })).toMatchObject({
      code: 'InputInvalid', message: expect.stringContaining('Shorten'),
    })
    expect(await tool.call({})).toMatchObject({ steps: STEPS })
  })

  it('uses a fixed approval key', async () => {
    expect(await tool.key({})).toBe('plan')
  })
})

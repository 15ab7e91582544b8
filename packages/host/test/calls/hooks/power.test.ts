import { BulkheadError } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import type { Guard, Hooks, CallCheck } from '../../../src/index.ts'
import { createWorld } from '../../twin/world.ts'

const call = { id: 'c', name: 'echo', arguments: { list: [1] } }

/** Each observer of the call tries to change what it may not change, through the object it receives. */
async function meddled(execute: () => Json) {
  const tried: string[] = []
  const meddle = (who: string, shown: unknown) => {
    tried.push(who)
    for (const part of [shown, ...Object.values(shown as object)]) {
      try {
        if (Array.isArray(part)) part.push('evil')
        else if (typeof part === 'object' && part !== null)
          Object.assign(part, { message: 'evil', data: 'evil', type: 'evil', a: 'evil' })
      } catch {
        // The change was rejected.
      }
    }
  }
  const watchdog: CallCheck = ({ args }) => meddle('watchdog', args)
  const guards: readonly Guard[] = [
    {
      id: 'g', pre: ({ args }) => meddle('pre', args),
      post: (_, body) => meddle('post', 'data' in body ? body.data : body),
    },
  ]
  const hooks: Hooks = {
    beforeToolExecution: ({ args }) => meddle('before', args),
    beforeToolExecutionUpdate: (_, partial) => meddle('before update', partial),
    onAfterTool: ({ result }) => meddle('onAfterTool', result),
    onToolError: ({ error }) => meddle('onToolError', error),
    afterToolExecution: (_, outcome) => meddle('after', outcome),
  }
  const ran: unknown[] = []
  const updates: unknown[] = []
  const world = createWorld({ extensions: [{ tools: { echo: { gated: true, execute(args, { update }) {
    ran.push(args)
    update({ at: [1] })
    return execute()
  } } } }] })
  world.host.on((event) => {
    if (event.type === 'ToolInvocationUpdated') meddle('listener', event.partial)
    if (event.type === 'ToolInvocationUpdated') updates.push(event.partial)
  })
  const session = await world.host.openSession({ mode: 'yolo', watchdog, guards, hooks })
  return { outcome: await session.call(call), tried: new Set(tried), ran, updates }
}

test('an observer cannot change the call, the events or the result', async () => {
  const { outcome, tried, ran, updates } = await meddled(() => ({ list: [1, { a: 'fine' }] }))
  expect(tried).toEqual(
    new Set(['watchdog', 'pre', 'before', 'before update', 'listener', 'post', 'onAfterTool', 'after']),
  )
  expect(ran).toEqual([{ list: [1] }])
  expect(updates).toEqual([{ at: [1] }])
  expect(outcome).toMatchObject({ type: 'output', data: { list: [1, { a: 'fine' }] } })
  expect(JSON.stringify(outcome)).not.toContain('evil')
})

test('an observer cannot change the error of a failure', async () => {
  const { outcome, tried } = await meddled(() => { throw new BulkheadError('NotFound', 'It is gone.') })
  expect(tried).toContain('onToolError')
  expect(outcome).toMatchObject({
    type: 'error', error: { code: 'NotFound' }, error_text: expect.stringContaining('It is gone.'),
  })
  expect(JSON.stringify(outcome)).not.toContain('evil')
})

test('a hook or guard cannot change the call that the next one checks', async () => {
  const pretend = (view: object) => void Reflect.set(view, 'args', { list: [] })
  const seen: unknown[] = []
  const look = ({ args }: { readonly args: Json }) => void seen.push(args)
  const world = createWorld({ extensions: [{ tools: { echo: { gated: true } } }] })
  const session = await world.host.openSession({
    mode: 'yolo',
    guards: [{ id: 'a', post: pretend }, { id: 'b', post: look }],
    hooks: [
      { beforeToolExecution: pretend, afterToolExecution: pretend },
      { beforeToolExecution: look, afterToolExecution: look },
    ],
  })
  await session.call(call)
  expect(seen).toEqual([{ list: [1] }, { list: [1] }, { list: [1] }])
})

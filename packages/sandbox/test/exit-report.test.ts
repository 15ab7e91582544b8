import type { Json } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { invocation, newSandbox, refusal, REMOTE, requestOf, running } from './fixture.ts'

describe.each(REMOTE)('an uncaught error in a %s', (placement) => {
  const reported = async (
    thrown: string,
  ): Promise<{ readonly code: string; readonly message: string; readonly data: Json | undefined }> => {
    const source = running(`setTimeout(() => { throw ${thrown} }); await new Promise(() => undefined)`)
    const session = await newSandbox().open(requestOf({ placement, source }))
    return refusal(session.call(invocation()))
  }

  it('is reported with its message', async () => {
    expect(await reported("new TypeError('torn')")).toMatchObject({
      code: 'CompartmentCrashed', message: expect.stringContaining('uncaught error: torn') as string,
    })
  })

  it('does not end the host, whatever properties it has', async () => {
    const made =
      "Object.defineProperties(new Error('odd'), { constructor: { value: Error }, cause: { get: undefined } })"
    expect(await reported(made)).toMatchObject({ code: 'CompartmentCrashed' })
  })

  it('cannot imitate the error of a limit', async () => {
    expect(await reported("Object.assign(new Error('x'), { code: 'ERR_WORKER_OUT_OF_MEMORY' })"))
      .toMatchObject({ code: 'CompartmentCrashed' })
  })
})

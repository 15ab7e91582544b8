import { randomUUID } from 'node:crypto'
import type { JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { MadeCall } from '../../protocol.ts'
import { optionalObject, optionalText, text } from '../access/body.ts'
import { RequestFault } from '../fault.ts'
import type { Inspected } from '../inspected.ts'
import { shownJson } from './capture.ts'
import { callIdOf } from './live-call.ts'

const CALL_ID = /^[\w-]{1,64}$/

/** Makes a call for the person who filled in a form. Throws InputInvalid. */
export async function madeCall(inspected: Pick<Inspected, 'makeCall'>, body: JsonObject): Promise<MadeCall> {
  const tool = text(body, 'tool')
  const call = optionalText(body, 'call') ?? `form-${randomUUID()}`
  const session = optionalText(body, 'session')
  if (!CALL_ID.test(call)) throw new RequestFault('InputInvalid', '"call" must be 1 to 64 letters, digits, - or _.', '/call')
  const args = optionalObject(body, 'arguments') ?? {}
  const { session: own, result, fault } =
    await inspected.makeCall({ tool, arguments: args, call, ...(session !== undefined && { session }) })
  const { text: outcome, isCut } = shownJson(result)
  return {
    id: callIdOf(own, call), succeeded: fault === undefined, outcome, cut: isCut,
    ...(fault?.code === 'InputInvalid' && { wrong: { path: fault.path ?? '', message: visibleText(fault.message) } }),
  }
}

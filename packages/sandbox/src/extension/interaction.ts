import type { Interact, InteractionOption, InteractionRequest, InteractionResponse } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { CodedError } from '../wire/remote-error.ts'
import type { AskForCall } from './ask.ts'

/** The asking part of a runtime: each method one request, the answer checked for the kind it promises. */
export function interaction(ask: AskForCall): Interact {
  const answer = async (request: InteractionRequest): Promise<Json> => {
    const response = await ask('interact', request) as unknown as InteractionResponse
    switch (response.status) {
      case 'accepted':
        return response.value
      case 'rejected':
        throw new CodedError('ApprovalDenied', response.reason ?? 'The person who was asked declined to answer.')
      case 'timeout':
        throw new CodedError('InteractionTimeout', 'Nobody answered the question in time. Ask again.')
    }
  }
  const text = async (request: InteractionRequest): Promise<string> => String(await answer(request))
  const select = (prompt: string, options: readonly InteractionOption[], multiple: boolean): Promise<Json> =>
    answer({ kind: 'Select', prompt, options, multiple })
  return Object.freeze({
    ask: (prompt) => text({ kind: 'Ask', prompt }),
    confirm: async (prompt) => await answer({ kind: 'Confirm', prompt }) === true,
    select: async (prompt, options) => String(await select(prompt, options, false)),
    selectMany: async (prompt, options) => {
      const chosen = await select(prompt, options, true)
      return Array.isArray(chosen) ? chosen.map(String) : [String(chosen)]
    },
    deviceCode: async (request) => void await answer({ kind: 'Auth.DeviceCode', ...request }),
    password: (prompt) => text({ kind: 'Auth.Password', prompt }),
  } satisfies Interact)
}

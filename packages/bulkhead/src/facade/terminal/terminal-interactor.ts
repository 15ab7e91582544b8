import type { Key } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { InteractionResponse, Interactor } from '@bulkhead/contract'
import { requireOptions } from '@bulkhead/contract'
import { forms, type OptionForms } from '@bulkhead/kit/options'

export interface TerminalStreams {
  readonly input: Readable
  readonly output: Writable
}

const STREAMS: OptionForms<TerminalStreams> = { input: forms.having('read', 'on'), output: forms.having('write', 'on') }

let terminals = 0

/** Imports the prompt code before third-party code runs, if a terminal interactor exists. */
export async function loadPrompts(): Promise<void> {
  if (terminals > 0) await import('./prompt-person.ts')
}

/**
 * Asks questions at a terminal. Prompts use standard error, so that standard output contains only results. Questions of
 * several sessions are asked one at a time. Throws ConfigInvalid.
 */
export function createTerminalInteractor(
  streams: TerminalStreams = { input: process.stdin, output: process.stderr },
): Interactor {
  requireOptions('createTerminalInteractor', streams, STREAMS, 'input', 'output')
  const { input, output } = streams
  terminals++
  let last: Promise<unknown> = Promise.resolve()
  return {
    interact({ request, source }, signal): Promise<InteractionResponse> {
      const answer = last.then(() => whileOpen(input, signal, async (open) => {
        // Imported with the first question: most commands ask none.
        const { promptPerson } = await import('./prompt-person.ts')
        const value = await promptPerson(request, source, { input, output, signal: open })
        return value === undefined ? DISMISSED : { status: 'accepted', value }
      }))
      last = answer
      return answer
    },
  }
}

const DISMISSED = { status: 'rejected', reason: 'the question was dismissed' } as const
const CLOSED = { status: 'rejected', reason: 'the question was withdrawn or the terminal was closed' } as const

/** Aborts the prompt when the input closes: it would wait forever otherwise. */
async function whileOpen(
  input: Readable, signal: AbortSignal, ask: (open: AbortSignal) => Promise<InteractionResponse>,
): Promise<InteractionResponse> {
  if (signal.aborted || input.destroyed || input.readableEnded) return CLOSED
  const closed = new AbortController()
  const close = () => closed.abort()
  // Ctrl-D on an empty line ends the input, but the prompt gets no event for it.
  const onKey = (_: unknown, key: Key | undefined) => {
    if (key?.ctrl === true && key.name === 'd') setImmediate(() => input.isPaused() && close())
  }
  input.once('end', close).once('close', close).on('keypress', onKey)
  const open = AbortSignal.any([signal, closed.signal])
  try {
    const response = await ask(open)
    return open.aborted ? CLOSED : response
  } catch {
    return CLOSED
  } finally {
    input.off('end', close).off('close', close).off('keypress', onKey)
  }
}

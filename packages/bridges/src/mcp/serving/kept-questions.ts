import { hash } from 'node:crypto'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import type { QuestionForm } from '../../questions/question-form.ts'

/** The tool and arguments of a request. */
export interface AskedCall {
  readonly name: string
  readonly arguments?: Record<string, unknown> | undefined
}

/** Digests of a call and of the form that it asks with, by the token. */
export interface QuestionKeeper {
  keep(token: string, call: string, form: string): Promise<void>
  /** Removes it. Resolves with the form. undefined: there is none, or it belongs to another call. */
  take(token: string, call: string): Promise<string | undefined>
}

/** The depth of the arguments must be bounded. */
export const meaningOf = ({ name, arguments: args = {} }: AskedCall): string => canonicalJson([name, args as Json])

export const callDigest = (asked: AskedCall): string => hash('sha256', meaningOf(asked))

export const formDigest = ({ message, requestedSchema }: QuestionForm): string =>
  hash('sha256', canonicalJson([message, requestedSchema as unknown as Json]))

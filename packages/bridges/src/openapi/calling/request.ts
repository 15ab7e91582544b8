import { ToolError, type NetRequest } from '@bulkhead/contract/author'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { DescribedOperation, DescribedParameter } from '../reading/api-description.ts'
import { bodyOf, type OutgoingBody } from './body.ts'
import { escaped, pairText, pathText, simpleText, styledPairs, Unwritable } from './styles.ts'

export interface OutgoingRequest {
  readonly url: string
  readonly method: string
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: NonNullable<NetRequest['body']> | undefined
}

/** The HTTP request of a call. Throws InputInvalid for an argument that cannot be sent as described. */
export function requestOf(operation: DescribedOperation, base: string, args: JsonObject): OutgoingRequest {
  const { method } = operation
  const given = operation.parameters.flatMap((parameter): Given[] => {
    const value = valueOf(args, parameter.argument)
    // Models send null for omitted arguments.
    return value === undefined || (value === null && parameter.in !== 'path') ? [] : [{ parameter, value }]
  })
  const inPlace = (place: DescribedParameter['in']) => given.filter(({ parameter }) => parameter.in === place)
  const query = pairsOf(inPlace('query')).map((pair) => pairText([pair])).join('&')
  const cookies = pairsOf(inPlace('cookie')).map(([name, value]) => `${name}=${value}`).join('; ')
  const body = outgoingBody(operation, args)
  return {
    url: `${base}${pathOf(operation.path, inPlace('path'))}${query === '' ? '' : `?${query}`}`,
    method,
    headers: new Map([
      ['accept', 'application/json, text/*;q=0.9, */*;q=0.5'],
      ...inPlace('header').map(
        ({ parameter, value }) => [parameter.name.toLowerCase(), headerText(parameter, value)] as const,
      ),
      ...(cookies === '' ? [] : [['cookie', cookies] as const]),
      ...(body === undefined ? [] : [['content-type', body.mediaType] as const]),
    ]),
    body: body?.content,
  }
}

interface Given {
  readonly parameter: DescribedParameter
  readonly value: Json
}

const valueOf = (args: JsonObject, name: string): Json | undefined => Object.hasOwn(args, name) ? args[name] : undefined

function outgoingBody({ body }: DescribedOperation, args: JsonObject): OutgoingBody | undefined {
  const value = body === null ? undefined : valueOf(args, body.argument)
  return body === null || value === undefined ? undefined : writable(body.argument, () => bodyOf(body, value))
}

/** The pairs of a query or of cookies, escaped. */
const pairsOf = (given: readonly Given[]) => given.flatMap(({ parameter, value }) => {
  const { argument, name, style, explode, json, reserved } = parameter
  if (json) return [[name, escaped(JSON.stringify(value))] as const]
  const queryStyle = style === 'simple' || style === 'label' || style === 'matrix' ? 'form' : style
  return writable(argument, () => styledPairs(name, value, { style: queryStyle, explode, reserved }))
})

/** Keeps a value in its path segment: escapes it, and rejects `.` and `..`, which keep their meaning when escaped. */
function pathOf(template: string, given: readonly Given[]): string {
  const byName = new Map(given.map(({ parameter, value }) => [parameter.name, { parameter, value }]))
  return template.split('/').map((segment) => {
    const filled = segment.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
      const { parameter, value } = byName.get(name) ?? {}
      const text = parameter === undefined || value === undefined ? '' : pathText(parameter, value)
      if (text === '') throw invalid(parameter?.argument ?? name, 'is part of the path and may not be empty')
      return text
    })
    const leadsAway = filled !== segment && /^\.{1,2}$/.test(filled)
    if (leadsAway) throw invalid(segment.replaceAll(/[{}]/g, ''), `may not be "${filled}", which would change the path`)
    return filled
  }).join('/')
}

function headerText(parameter: DescribedParameter, value: Json): string {
  const text = simpleText(parameter, value, (part) => part)
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text
  throw invalid(parameter.argument, 'is sent as a header and contains characters that are not allowed there')
}

function writable<Value>(argument: string, write: () => Value): Value {
  try {
    return write()
  } catch (error) {
    throw error instanceof Unwritable ? invalid(argument, error.message) : error
  }
}

const invalid = (argument: string, why: string): ToolError =>
  new ToolError('InputInvalid', `The argument "${argument}" ${why}. Nothing was sent.`, { argument })

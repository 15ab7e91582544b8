import { BulkheadError, type BrokerMethod, type CapabilityUse, type MeasuredUse, type RuntimePart } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { CallEffect, OpenCall } from './model/capability.ts'

/** Contract: must not throw. */
export type UseListener = (use: CapabilityUse) => void

/** Reports uses after they happened. A use counts also if it fails, unless it is denied. */
export async function reported<Answer>(
  onUse: UseListener, uses: readonly CapabilityUse[], work: () => Promise<Answer> | Answer,
): Promise<Answer> {
  try {
    const answer = await work()
    uses.forEach(onUse)
    return answer
  } catch (error) {
    if (!BulkheadError.is(error) || error.code !== 'CapabilityDenied') uses.forEach(onUse)
    throw error
  }
}

/** Reports what a use took. What other uses of the call read and write at the same time is counted with it. */
export async function measured<Answer>(
  listener: (use: MeasuredUse) => void, uses: readonly CapabilityUse[], call: OpenCall, work: () => Promise<Answer> | Answer,
): Promise<Answer> {
  const { effects } = call
  const count = (...kinds: readonly CallEffect[]): number => kinds.reduce((sum, kind) => sum + (effects?.of(kind) ?? 0), 0)
  const [begun, read, written] = [performance.now(), count('readBytes'), count('writtenBytes', 'sentBytes')]
  const report = (failed: boolean): void => {
    for (const use of uses) {
      listener({
        ...use, failed, ms: performance.now() - begun,
        readBytes: count('readBytes') - read, writtenBytes: count('writtenBytes', 'sentBytes') - written,
      })
    }
  }
  try {
    const answer = await work()
    report(false)
    return answer
  } catch (error) {
    report(true)
    throw error
  }
}

/** What a call of the broker uses. */
export function usesOf(
  tool: string, method: BrokerMethod, part: RuntimePart, [first, second]: readonly Json[],
): readonly CapabilityUse[] {
  const one = (subject: string): CapabilityUse => ({ tool, part, subject })
  const options = isJsonObject(second) ? second : {}
  const fileOf = (stream: Json | undefined, power: 'fs.read' | 'fs.write'): readonly CapabilityUse[] =>
    isJsonObject(stream) ? [{ tool, part: power, subject: textOf(stream['path']) }] : []
  switch (method) {
    // They continue an earlier use.
    case 'fs.watch.next': case 'net.read': return []
    // The first argument is a pattern for names or text. Anything below the folder may be read.
    case 'fs.glob': case 'fs.find': case 'fs.search': return [one(textOf(options['path'] ?? '.'))]
    case 'fs.edit': return [one(textOf(first)), { ...one(textOf(first)), part: 'fs.read' }]
    case 'fs.apply': return (Array.isArray(first) ? first as readonly Json[] : []).filter(isJsonObject)
      .flatMap(({ path, before }) => [
        one(textOf(path)), ...(before === null ? [] : fileOf({ path: path ?? null }, 'fs.read')),
      ])
    case 'net.fetch': return [one(`${textOf(options['method'] ?? 'GET')} ${textOf(first)}`)]
    case 'shell.run': return [one(commandOf(first, second))]
    case 'shell.pipe': return (Array.isArray(first) ? first as readonly Json[] : []).filter(isJsonObject)
      .flatMap(({ cmd, args, input, stdout, stderr }) => [
        one(commandOf(cmd, args)), ...fileOf(input, 'fs.read'),
        ...fileOf(stdout, 'fs.write'), ...fileOf(stderr, 'fs.write'),
      ])
    default: return [one(textOf(first))]
  }
}

const commandOf = (cmd: Json | undefined, args: Json | undefined): string =>
  [cmd, ...(Array.isArray(args) ? args as readonly Json[] : [])].map(textOf).join(' ')

const textOf = (value: Json | undefined): string => typeof value === 'string' ? value : JSON.stringify(value ?? null)

import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** Sends JSON-RPC messages. */
export const send = (child: ChildProcessWithoutNullStreams, ...messages: readonly object[]) =>
  child.stdin.write(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''))

export const HELLO = {
  id: 0, method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
}

/** The first line of the output that matches. */
export const lineOf = (child: ChildProcessWithoutNullStreams, wanted: RegExp) => new Promise<string>((resolve) => {
  let text = ''
  child.stdout.on('data', (chunk: string) => {
    text += chunk
    const line = text.split('\n').slice(0, -1).find((one) => wanted.test(one))
    if (line !== undefined) resolve(line)
  })
})

/** All descendants of a process. */
export function descendants(pid: number): readonly number[] {
  const parents = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      return [[Number(name), Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))![1])] as const]
    } catch {
      return []
    }
  })
  const below = (parent: number): readonly number[] =>
    parents.flatMap(([child, of]) => (of === parent ? [child, ...below(child)] : []))
  return below(pid)
}

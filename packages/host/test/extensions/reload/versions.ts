import type { ExtensionSketch, World } from '../../twin/world.ts'

export const yolo = { mode: 'yolo' } as const
export const echo = { name: 'echo', arguments: {} }
const says = (text: string) => ({ echo: { execute: () => text } })
/** Each version answers with its number. */
export const version = (number: number, more: ExtensionSketch = {}): ExtensionSketch =>
  ({ version: `${number}.0.0`, tools: says(`v${number}`), ...more })

export async function running(world: World) {
  const session = await world.host.openSession(yolo)
  const callEcho = async () => {
    const outcome = await session.call({ id: 'c', ...echo })
    return outcome.type === 'output' ? outcome.data : outcome.error.code
  }
  return { session, callEcho, first: await callEcho() }
}

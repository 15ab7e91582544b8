import type { Wall } from '@bulkhead/contract'

/** What stands around tools, commands and servers, in one line. `jailFault`: why servers have no jail. */
export function wallLine(walls: readonly Wall[], jailFault: string | undefined): string {
  const around = (place: Wall['around']): string =>
    walls.filter((wall) => wall.around === place && wall.stands).map(({ name }) => name).join(', ') || 'nothing'
  const servers = jailFault === undefined ? 'jail' : `refused, because ${jailFault}`
  return `tools: ${around('process')}; commands: ${around('commands')}; servers: ${servers}`
}

import type { Wall } from '@bulkhead/contract'

/** What the operating system holds against tools, commands and servers here. */
export interface WallReport {
  /** All of it in one line, for people. */
  readonly line: string
  /** Each feature, also those that this machine lacks. */
  readonly walls: readonly Wall[]
}

/** @deprecated Use `WallReport`. */
export type StandingWalls = WallReport

/** Local servers without a wall are refused, unless their entry says otherwise. */
export function wallReport(walls: readonly Wall[]): WallReport {
  const around = (place: Wall['around'], nothing: string): string =>
    walls.filter((wall) => wall.around === place && wall.stands).map(({ name }) => name).join(', ') || nothing
  const [tools, commands] = [around('process', 'nothing'), around('commands', 'nothing')]
  return { line: `tools: ${tools}; commands: ${commands}; servers: ${around('servers', 'refused')}`, walls }
}

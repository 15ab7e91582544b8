import { sha512 } from '../server-entry.ts'

const LONGEST = 64
const MARK = 8

/** `<server>_<tool>` in letters that every model API takes. What would be too long is told apart by a digest. */
export function toolName(server: string, tool: string): string {
  const name = `${server}_${tool}`.replaceAll(/[^A-Za-z0-9_]/g, '_')
  return name.length <= LONGEST ? name : `${name.slice(0, LONGEST - MARK - 1)}_${sha512(`${server}\0${tool}`).slice(0, MARK)}`
}

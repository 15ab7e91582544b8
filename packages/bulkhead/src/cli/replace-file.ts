import { renameSync, rmSync, writeFileSync } from 'node:fs'

/** As a whole: a full disk must not leave half of it under its name. */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`
  try {
    writeFileSync(temporary, content, { flag: 'wx' })
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

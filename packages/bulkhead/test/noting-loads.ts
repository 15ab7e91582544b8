/** A test imports this before the command. Writes the URLs of loaded modules to a file when the process exits. */
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const loaded: string[] = []
registerHooks({
  load(url, context, next) {
    if (!url.startsWith('node:')) loaded.push(url)
    return next(url, context)
  },
})
process.on('exit', () => appendFileSync(process.env['LOADS_FILE']!, loaded.join('\n')))

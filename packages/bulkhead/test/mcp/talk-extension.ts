import { writeExtension } from '../extension-folder.ts'

const CODE = `export default { tools: {
  greet: { execute: async (_, { interact }) => ({ hello: await interact.ask('Who?') }) },
  both: { execute: async (_, { tools }) => {
    const results = await Promise.all([tools.call('greet', {}), tools.call('greet', {})])
    return { names: results.map(({ data, error_text }) => data?.hello ?? error_text) }
  } },
  wait: { execute: (_, { signal }) =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve('stopped'))) },
  fail: { execute: () => { throw new Error('no') } },
} }`

/** Tools that ask a person, once or twice at a time, wait until they are cancelled, and fail. */
export const writeTalk = (home: string): void => void writeExtension(home, {
  id: 'talk', tools: [
    { name: 'greet', mode: 'safe_write', requires: { capabilities: ['interact'] } },
    { name: 'both', mode: 'safe_write', requires: { capabilities: ['interact', 'tools.call'] } },
    { name: 'wait' }, { name: 'fail', mode: 'safe_write' },
  ],
}, CODE)

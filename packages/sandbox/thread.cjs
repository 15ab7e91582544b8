'use strict'
// The first lines of the thread of every compartment. Piscina loads this file in the host's own process; a hull, which may
// read no file, is handed its text. It is not TypeScript, because to strip types would take longer than all the rest.

// A block: names at the top of a text that is run are those of every script and module after it, the extension's too.
{
  const { getBuiltinModule } = process
  const { constants, Script } = getBuiltinModule('node:vm')
  const { parentPort, workerData } = getBuiltinModule('node:worker_threads')

  // Globals of a text that is run are gone after lockdown, which begins below.
  const own = module

  const run = ({ script: { text, cache }, tellsCache }) => {
    const script = new Script(text, {
      filename: 'compartment',
      cachedData: cache,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    })
    // It is of no more use, and as large as the script.
    delete workerData.script
    const thread = script.runInThisContext()(getBuiltinModule)
    own.exports = thread
    if (tellsCache) thread.prepared.then(() => parentPort.postMessage(script.createCachedData()))
  }

  // A hull starts its thread before it has read what that shall run.
  if (workerData.script === undefined) parentPort.once('message', (start) => run(Object.assign(workerData, start)))
  else run(workerData)
}

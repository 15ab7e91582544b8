'use strict'
// The boot script of the thread of every compartment, which gets its source text, because it may not read files. It is
// JavaScript, because stripping types would take longer than everything else here.

// A block, because all later scripts and modules, the extension included, see the top-level names of a script.
{
  const { getBuiltinModule } = process
  const { constants, Script } = getBuiltinModule('node:vm')
  const { parentPort, workerData } = getBuiltinModule('node:worker_threads')

  const run = ({ script: { text, cache }, tellsCache }) => {
    const script = new Script(text, {
      filename: 'compartment',
      cachedData: cache,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    })
    // No longer needed, and as large as the script.
    delete workerData.script
    const thread = script.runInThisContext()(getBuiltinModule)
    if (tellsCache) thread.prepared.then(() => parentPort.postMessage(script.createCachedData()))
  }

  // A child process starts its thread before it has received the script.
  if (workerData.script === undefined) parentPort.once('message', (start) => run(Object.assign(workerData, start)))
  else run(workerData)
}

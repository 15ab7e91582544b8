// Reads a file with a third-party tool in a process, and then again. Plain JavaScript: types would take time to strip.
// Arguments: the published library, the home, the workspace, how many calls, the tool.
const [, , library, home, workspace, calls, tool] = process.argv
const { createHost } = await import(library)
const begin = performance.now()
const host = await createHost({ workspace, home })
const session = await host.openSession({ mode: 'yolo' })
const micros = []
let firstMs
let text
const use = async (from) => {
  const outcome = await from.call({ id: `c${micros.length}`, name: tool, arguments: { path: 'notes.md' } })
  if (outcome.type === 'error') throw new Error(`${outcome.error.code}: ${outcome.error_text}`)
  return outcome.data.text ?? outcome.data.content
}
for (let call = 0; call < Number(calls); call++) {
  const before = performance.now()
  text = await use(session)
  micros.push((performance.now() - before) * 1000)
  if (call > 0) continue
  firstMs = performance.now() - begin
  process.stdout.write('first\n')
}
const before = performance.now()
const later = await host.openSession({ mode: 'yolo' })
const opened = performance.now()
await use(later)
const laterMs = performance.now() - opened
process.stdout.write(`${JSON.stringify({ text, firstMs, micros, laterMs, openedMs: opened - before })}\n`)
await host.close()

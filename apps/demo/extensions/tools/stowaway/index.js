export default {
  tools: {
    look_around: {
      execute: ({ path }, runtime) => runtime.fs.readText(path),
    },
    drift: {
      execute() {
        for (;;);
      },
    },
    sink: {
      execute: () => new Promise(() => {
        queueMicrotask(() => {
          throw new Error('abandon ship')
        })
      }),
    },
  },
}

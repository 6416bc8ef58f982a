// What the pages do beyond being read: they bring themselves up to date, obey keys, keep
// the theme, copy the command line and show local times. All of them work without it.
'use strict';
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const button = (text, press) => {
    const b = document.createElement('button');
    b.type = 'button';
    b.className = 'btn small';
    b.textContent = text;
    b.addEventListener('click', press);
    return b;
  };
  const clock = () => new Date().toISOString().slice(11, 19) + ' UTC';
  // say has a screen reader speak when it has nothing else to say.
  const say = text => { $('#said').textContent = text; };

  // dress gives a part of the page what the server can't: copying, and local times.
  function dress(part) {
    if (navigator.clipboard) {
      for (const line of all('.cli', part)) {
        const copy = button('Copy', async () => {
          const text = $('code', line);
          try {
            await navigator.clipboard.writeText(text.textContent);
            copy.textContent = 'Copied';
            say('The command is copied.');
          } catch { // where somebody forbids it, it is at least marked
            getSelection().selectAllChildren(text);
          }
        });
        line.append(copy);
      }
    }
    for (const time of all('time[data-local]', part)) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime()) || at.getTimezoneOffset() === 0) continue;
      const local = document.createElement('span');
      local.className = 'muted local';
      local.textContent = ' ' + at.toLocaleString('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' });
      time.after(local);
    }
  }

  // parts are what a newer page replaces.
  const parts = 'section[id], .side ul[id]';

  // sections knows the parts of the page as the server made them, and which newer ones
  // wait until nobody points at the old, is in it, or has written or marked something there.
  const sections = (() => {
    const made = new Map(all(parts).map(s => [s.id, s.outerHTML]));
    const waiting = new Map();
    const written = field => /checkbox|radio/.test(field.type) ? field.checked !== field.defaultChecked : 'defaultValue' in field && field.value !== field.defaultValue;
    const inUse = s => matchMedia('(hover: hover)').matches && s.matches(':hover')
      || s.contains(document.activeElement)
      || $('dialog[open], :popover-open', s)
      || !getSelection().isCollapsed && getSelection().containsNode(s, true)
      || all('input, textarea', s).some(written);
    function put(old, next) {
      made.set(old.id, next.outerHTML);
      document.adoptNode(next);
      const opened = all('details', next), scrolled = all('.scroll', next);
      all('details', old).forEach((d, i) => { if (opened[i]) opened[i].open = d.open; });
      const lefts = all('.scroll', old).map(s => s.scrollLeft);
      dress(next);
      old.replaceWith(next);
      lefts.forEach((left, i) => { if (scrolled[i]) scrolled[i].scrollLeft = left; });
    }
    // settle puts what can be put now, and tells whether something is left.
    function settle() {
      for (const [id, next] of waiting) {
        const old = document.getElementById(id);
        if (old && inUse(old)) continue;
        waiting.delete(id);
        if (old) put(old, next);
      }
      return waiting.size > 0;
    }
    function take(page) {
      for (const old of all(parts)) {
        const next = page.getElementById(old.id);
        if (next && next.outerHTML !== made.get(old.id)) waiting.set(old.id, next);
        else waiting.delete(old.id);
      }
      return settle();
    }
    return { take, settle };
  })();

  // live keeps the page up to date: it hears of changes and fetches the page again, at the
  // soonest after ten times as long as that took, so that many readers don't hold up a server.
  function live(bar) {
    const address = new URL(bar.dataset.events, location.href);
    const text = $('span', bar);
    let shown = $('time', bar).textContent;
    let source, timer, paused = '', lost = '', left = 0, delay = 4, out = false;
    let changes = 0, held = false, due = false, fetching = false, said = 0, slower = 0, next;

    const press = $('button', bar);
    $('a', bar).remove();
    press.hidden = false;
    press.addEventListener('click', () => {
      if (out) location.reload();
      else if (lost) connect();
      else if (paused) { paused = ''; say('Goes on.'); refresh(); } else { paused = clock(); say('Paused.'); }
      show();
    });

    function show() {
      const count = changes === 1 ? '1 change' : changes + ' changes';
      bar.classList.toggle('paused', Boolean(out || lost || paused));
      if (out) text.textContent = 'Logged out · as of ' + shown;
      else if (lost) text.textContent = `Connection lost at ${lost} · tries again in ${left} s`;
      else if (paused) text.textContent = `Paused at ${paused} · ${count} since`;
      else if (held) text.textContent = `Live · ${count} ${changes === 1 ? 'waits' : 'wait'} while you are there`;
      else text.textContent = 'Live · ' + shown;
      const word = out ? 'Log in' : lost ? 'Now' : paused ? 'Go on' : 'Pause';
      if (press.textContent !== word) $('span', press).textContent = word;
      $('.ic', press).classList.toggle('none', word !== 'Pause');
    }

    function connect() {
      close();
      source = new EventSource(address);
      source.onopen = () => {
        if (lost) say('The connection is back.');
        lost = '';
        delay = 4;
        if (slower) {
          slower = 0;
          clearTimeout(next);
          fetching = false;
          refresh();
        }
        show();
      };
      source.onmessage = event => {
        address.searchParams.set('after', event.lastEventId);
        changes++;
        due = true;
        refresh();
        show();
      };
      source.addEventListener('again', connect); // who reads is looked at anew
      source.onerror = () => {
        close();
        if (!lost) say('The connection is lost.');
        lost ||= clock();
        left = delay;
        delay = Math.min(60, 2 * delay);
        timer = setTimeout(wait, 1000);
        due = true; // perhaps pages can still be read, and only /events is full
        refresh();
        show();
      };
    }

    function wait() {
      if (--left <= 0) connect();
      else { timer = setTimeout(wait, 1000); show(); }
    }

    function close() {
      clearTimeout(timer);
      source?.close();
    }

    async function refresh() {
      if (!due || paused || fetching || out || document.hidden) return;
      fetching = true;
      due = false;
      const begun = performance.now();
      let failed = false;
      try {
        const answer = await fetch(location.href);
        const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
        if (answer.redirected) {
          out = true;
          close();
          say('You are logged out.');
        } else if (answer.ok && !paused) {
          held = sections.take(page);
          shown = $('.live time', page)?.textContent ?? shown;
          if (!held && !due) changes = 0;
          if (begun - said > 60000) {
            said = begun;
            say('The page is up to date.');
          }
        } else {
          due = true;
          failed = !answer.ok;
        }
      } catch {
        due = failed = true;
      }
      slower = failed ? Math.min(60000, 2 * slower || 4000) : 0; // a server that fails is asked the more seldom
      show();
      next = setTimeout(() => { fetching = false; refresh(); }, Math.max(slower, Math.min(60000, Math.max(1000, 9 * (performance.now() - begun)))));
    }

    function settle() {
      if (!held || paused) return;
      held = sections.settle();
      if (!held && !due) changes = 0;
      show();
    }
    for (const moved of ['pointerover', 'focusin', 'focusout', 'selectionchange']) document.addEventListener(moved, () => setTimeout(settle));
    document.documentElement.addEventListener('pointerleave', () => setTimeout(settle));
    // Browsers open few connections to one server: pages that nobody sees keep none.
    document.addEventListener('visibilitychange', () => { if (document.hidden) close(); else if (!out) { connect(); refresh(); } });
    if (!document.hidden) connect();
    show();
    return press;
  }

  // keys obeys single keys outside of fields, unless they are switched off.
  function keys(pause) {
    const help = $('#keys'), on = $('#keys-on'), open = $('#keys-open');
    let storage;
    try { storage = window.localStorage; } catch { storage = {}; }
    on.checked = storage.keys !== 'off';
    on.addEventListener('change', () => { storage.keys = on.checked ? 'on' : 'off'; });
    open.hidden = false;
    open.addEventListener('click', () => help.showModal());

    function move(step) {
      const linked = selector => all(selector).filter(row => $('a[href]', row));
      let rows = linked('main table:not(.matrix) tbody tr, main .list > li');
      if (rows.length === 0) rows = linked('main .matrix tbody tr');
      const here = rows.findIndex(row => row.contains(document.activeElement));
      const to = rows[here < 0 ? (step > 0 ? 0 : rows.length - 1) : here + step];
      if (to) $('a[href]', to).focus();
    }
    let went = -Infinity;
    const does = {
      '/': () => $('#q').select(),
      '?': () => help.showModal(),
      g: event => { went = event.timeStamp; },
      j: () => move(1),
      k: () => move(-1),
      p: () => pause?.click(),
      '[': () => $('.tm [data-step="["]')?.click(),
      ']': () => $('.tm [data-step="]"]')?.click(),
      f: () => {
        for (const d of all('.facets-wrap')) d.open = true;
        $('.facets a, .facets input')?.focus();
      },
    };
    document.addEventListener('keydown', event => {
      if (!on.checked || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (event.target.closest('input:not([type=radio], [type=checkbox]), select, textarea, dialog[open]')) return;
      const page = event.timeStamp - went < 2000 && $(`.side a[data-key="${CSS.escape(event.key)}"]`);
      const act = page ? () => page.click() : Object.hasOwn(does, event.key) && does[event.key];
      if (event.key !== 'g') went = -Infinity;
      if (!act) return;
      event.preventDefault();
      act(event);
    });
  }

  // ask shows the form of an order in a dialog of the page that offers it, instead of as a
  // page of its own, as it is without a script and where something is wrong with it.
  async function ask(link) {
    const dialog = document.createElement('dialog');
    dialog.className = 'dialog';
    dialog.setAttribute('aria-label', link.textContent);
    dialog.append('What it would do is being asked …', button('Not now', () => dialog.close()));
    dialog.addEventListener('close', () => { dialog.remove(); link.focus(); });
    $('main').append(dialog);
    dialog.showModal();
    let form;
    try {
      const answer = await fetch(link.href);
      form = answer.ok && !answer.redirected && new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('order');
    } catch { // the page says why
    }
    if (!dialog.open) return;
    if (!form) { location.assign(link.href); return; }
    dialog.replaceChildren(document.adoptNode(form));
    $('a.btn', form).addEventListener('click', event => { event.preventDefault(); dialog.close(); });
    ($('input:not([type=hidden])', form) ?? $('.btn', form)).focus();
  }

  // theme keeps what was chosen; the style sheet obeys the radios by itself.
  function theme(form) {
    form.addEventListener('change', () => fetch(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)), redirect: 'manual' }).catch(() => {}));
  }

  // along says where a slider stands, and goes there once it is let go: by the keyboard when
  // it is left, or Enter is pressed, so that one can walk along it.
  function along(slider) {
    const stood = slider.value;
    let pointed = false;
    const go = () => { if (slider.value !== stood) slider.form.requestSubmit(); };
    slider.addEventListener('input', () => {
      const at = new Date(1000 * slider.value).toISOString();
      slider.setAttribute('aria-valuetext', at.slice(0, 10) + ', ' + at.slice(11, 16) + ' UTC');
      $('.tm [name=as_of]').value = at.slice(0, 19) + 'Z';
    });
    slider.addEventListener('pointerdown', () => { pointed = true; });
    slider.addEventListener('change', () => { if (pointed) go(); });
    slider.addEventListener('keydown', event => { pointed = false; if (event.key === 'Enter') { event.preventDefault(); go(); } });
    slider.addEventListener('blur', go);
  }

  dress(document);
  document.addEventListener('click', event => {
    const link = event.target.closest('a[data-ask]');
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    ask(link);
  });
  for (const slider of all('.tm [type=range]')) along(slider);
  if ($('.switch')?.closest('form')) theme($('.switch').closest('form'));
  const bar = $('.live[data-events]');
  const pause = bar && !new URLSearchParams(location.search).has('as_of') ? live(bar) : null;
  if ($('#keys')) keys(pause);
})();

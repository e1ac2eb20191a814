"""One worker of an application that uses Django's or SQLAlchemy's objects on MariaDB.

usage: orm_client.py (django|sqlalchemy) (make|work) PORT ISOLATION SEED TRANSACTIONS

`make` lets the ORM create its tables; `work` runs transactions as applications write them: shops with
orders, counters, optimistic locks, get_or_create, bulk inserts, rows locked for update.
"""
import random
import sys

KIND, ACT, PORT, ISOLATION, SEED, COUNT = sys.argv[1:7]
PORT, COUNT, rng = int(PORT), int(COUNT), random.Random(SEED)


def django_app():
    import django
    from django.conf import settings
    settings.configure(
        DATABASES={'default': {'ENGINE': 'django.db.backends.mysql', 'NAME': 'shop', 'USER': 'root', 'HOST': '127.0.0.1', 'PORT': PORT,
                               'OPTIONS': {'isolation_level': ISOLATION}}},
        INSTALLED_APPS=[], DEFAULT_AUTO_FIELD='django.db.models.BigAutoField', USE_TZ=True)
    django.setup()
    from django.db import connection, models, transaction, utils

    class Customer(models.Model):
        name = models.CharField(max_length=40, unique=True)
        joined = models.DateTimeField(auto_now_add=True)
        visits = models.IntegerField(default=0)

        class Meta:
            app_label = 'shop'

    class Product(models.Model):
        name = models.CharField(max_length=40)
        price = models.DecimalField(max_digits=9, decimal_places=2)
        stock = models.PositiveIntegerField()
        version = models.IntegerField(default=0)
        active = models.BooleanField(default=True)

        class Meta:
            app_label = 'shop'

    class Order(models.Model):
        customer = models.ForeignKey(Customer, on_delete=models.CASCADE)
        placed = models.DateTimeField(auto_now_add=True)
        state = models.CharField(max_length=10, default='new')

        class Meta:
            app_label = 'shop'

    class Line(models.Model):
        order = models.ForeignKey(Order, on_delete=models.CASCADE)
        product = models.ForeignKey(Product, on_delete=models.CASCADE)
        quantity = models.IntegerField()

        class Meta:
            app_label = 'shop'

    if ACT == 'make':
        with connection.schema_editor() as editor:
            for m in (Customer, Product, Order, Line):
                editor.create_model(m)
        Product.objects.bulk_create([Product(name=f'p{i}', price=f'{i}.50', stock=100) for i in range(1, 6)])
        Customer.objects.create(name='first')
        return

    def buy():
        with transaction.atomic():
            customer, _ = Customer.objects.get_or_create(name=f'c{rng.randint(1, 8)}')
            order = Order.objects.create(customer=customer)
            for p in sorted(rng.sample(range(1, 6), 2)):
                product = Product.objects.select_for_update().get(pk=p)
                product.stock = product.stock - 1
                product.save()
                Line.objects.create(order=order, product=product, quantity=1)

    def visit():
        with transaction.atomic():
            Customer.objects.filter(name=f'c{rng.randint(1, 8)}').update(visits=models.F('visits') + 1)

    def optimistic():
        with transaction.atomic():
            p = Product.objects.get(pk=rng.randint(1, 5))
            Product.objects.filter(pk=p.pk, version=p.version).update(price=p.price + 1, version=p.version + 1)

    def report():
        with transaction.atomic():
            list(Product.objects.filter(active=True).order_by('-stock', 'id')[:3].values_list('id', 'stock'))
            Line.objects.aggregate(models.Sum('quantity'), models.Count('id'))
            list(Order.objects.select_related('customer').filter(customer__visits__gte=0).order_by('id').values_list('id', 'customer__name', 'state'))

    def ship():
        with transaction.atomic():
            o = Order.objects.filter(state='new').order_by('id').first()
            if o:
                Order.objects.filter(pk=o.pk, state='new').update(state='sent')

    def look():
        list(Customer.objects.all().order_by('name').values_list('name', 'visits', 'joined'))

    def many():
        with transaction.atomic():
            Customer.objects.bulk_create([Customer(name=f'b{rng.randint(1, 99999)}') for _ in range(3)])

    def cancel():
        with transaction.atomic():
            o = Order.objects.order_by('-id').first()
            if o:
                o.delete()

    for _ in range(COUNT):
        try:
            rng.choice([buy, buy, visit, optimistic, report, ship, look, many, cancel])()
        except utils.Error:
            pass


def alchemy_app():
    import sqlalchemy as sa
    from sqlalchemy.orm import Session, declarative_base, relationship
    base = declarative_base()

    class Account(base):
        __tablename__ = 'accounts'
        id = sa.Column(sa.Integer, primary_key=True)
        owner = sa.Column(sa.String(40), nullable=False, unique=True)
        balance = sa.Column(sa.Numeric(12, 2), nullable=False, default=0)
        changed = sa.Column(sa.DateTime, server_default=sa.func.now(), onupdate=sa.func.now())
        entries = relationship('Entry', back_populates='account')

    class Entry(base):
        __tablename__ = 'entries'
        id = sa.Column(sa.Integer, primary_key=True)
        account_id = sa.Column(sa.ForeignKey('accounts.id'), nullable=False)
        amount = sa.Column(sa.Numeric(12, 2), nullable=False)
        note = sa.Column(sa.Text)
        account = relationship('Account', back_populates='entries')

    class Job(base):
        __tablename__ = 'jobs'
        id = sa.Column(sa.Integer, primary_key=True)
        state = sa.Column(sa.String(10), nullable=False, default='new')
        worker = sa.Column(sa.Integer)
        version = sa.Column(sa.Integer, nullable=False)
        __mapper_args__ = {'version_id_col': version}

    engine = sa.create_engine(f'mysql+mysqldb://root@127.0.0.1:{PORT}/shop', isolation_level=ISOLATION.upper(), pool_size=1)
    if ACT == 'make':
        base.metadata.create_all(engine)
        with Session(engine) as s:
            s.add_all([Account(owner=f'o{i}', balance=100) for i in range(5)])
            s.add_all([Job() for _ in range(6)])
            s.commit()
        return

    def transfer(s):
        a, b = rng.sample(range(1, 6), 2)
        x = s.get(Account, a, with_for_update=True)
        y = s.get(Account, b, with_for_update=True)
        amount = rng.randint(1, 20)
        x.balance -= amount
        y.balance += amount
        s.add_all([Entry(account=x, amount=-amount), Entry(account=y, amount=amount, note="it's \\ done")])

    def deposit(s):
        a = s.execute(sa.select(Account).where(Account.owner == f'o{rng.randrange(5)}')).scalar_one()
        a.balance = Account.balance + 5
        s.flush()
        s.refresh(a)

    def look(s):
        s.execute(sa.select(sa.func.sum(Account.balance))).scalar()
        s.execute(sa.select(Account.owner, sa.func.count(Entry.id)).outerjoin(Entry).group_by(Account.owner).order_by(Account.owner)).all()

    def work(s):
        j = s.execute(sa.select(Job).where(Job.state == 'new').order_by(Job.id).limit(1).with_for_update(skip_locked=True)).scalar_one_or_none()
        if j:
            j.state, j.worker = 'done', rng.randint(1, 9)
        else:
            s.add(Job())

    def optimistic(s):
        j = s.get(Job, rng.randint(1, 6))
        if j:
            j.worker = rng.randint(1, 99)

    def page(s):
        s.execute(sa.select(Entry.id, Entry.amount).order_by(Entry.id.desc()).limit(5).offset(1)).all()
        s.execute(sa.select(Account.id, Account.changed).order_by(Account.id)).all()

    for _ in range(COUNT):
        with Session(engine) as s:
            try:
                rng.choice([transfer, transfer, deposit, look, work, optimistic, page])(s)
                s.commit() if rng.random() < 0.95 else s.rollback()
            except (sa.exc.SQLAlchemyError, ArithmeticError):
                s.rollback()


(django_app if KIND == 'django' else alchemy_app)()
